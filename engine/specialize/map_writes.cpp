#include "engine/specialize/map_writes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace kiln::specialize {
namespace {

using bound::Expr;
constexpr std::int64_t coefficient_max = std::int64_t(1) << 40;
constexpr std::size_t variables_max = 4, axes_max = 8;

// Σ coefficient[v] * index v, plus something that is the same for all iterations. Not affine: only `uses` is known.
struct Form {
  bool affine = true;
  std::array<std::int64_t, variables_max> coefficient{};
  unsigned uses = 0;  // a bit a variable
};

Form combine(const Form& a, const Form& b, std::int64_t sign) {
  Form form;
  form.affine = a.affine && b.affine;
  form.uses = a.uses | b.uses;
  for (std::size_t v = 0; v < variables_max; ++v) {
    form.coefficient[v] = a.coefficient[v] + sign * b.coefficient[v];
    if (std::abs(form.coefficient[v]) > coefficient_max) form.affine = false;
  }
  return form;
}

Form scale(const Form& a, std::int64_t factor) {
  Form form = a;
  if (std::abs(factor) > coefficient_max) form.affine = a.uses == 0;
  for (auto& c : form.coefficient) {
    c = form.affine && c != 0 ? c * (factor % (coefficient_max + 1)) : 0;
    if (std::abs(c) > coefficient_max) form.affine = false;
  }
  return form;
}

class Analysis {
 public:
  explicit Analysis(const MapSpace& space) : space_(space) {}

  // `steps` bounds the walk: lets of lets are expanded at every use.
  Form of(const Expr& expr) {
    if (++steps_ > 10000) return {false, {}, ~0u};
    if (expr.kind == Expr::Kind::variable) return variable(static_cast<int>(expr.integer));
    if (expr.kind == Expr::Kind::unary && expr.op == Op::neg) return scale(of(*expr.args[0]), -1);
    if (expr.kind == Expr::Kind::binary && (expr.op == Op::add || expr.op == Op::sub))
      return combine(of(*expr.args[0]), of(*expr.args[1]), expr.op == Op::add ? 1 : -1);
    if (expr.kind == Expr::Kind::binary && expr.op == Op::mul) {
      for (int side = 0; side < 2; ++side)
        if (expr.args[side]->kind == Expr::Kind::integer)
          return scale(of(*expr.args[1 - side]), expr.args[side]->integer);
    }
    Form form;
    for (const auto& arg : expr.args) form.uses |= of(*arg).uses;
    if (expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor) form.uses = ~0u;
    form.affine = form.uses == 0;
    return form;
  }

 private:
  Form variable(int id) {
    Form form;
    for (std::size_t v = 0; v < space_.variables.size(); ++v) {
      if (space_.variables[v] != id) continue;
      form.coefficient[v] = 1;
      form.uses = 1u << v;
      return form;
    }
    const auto let = space_.lets.find(id);
    return let == space_.lets.end() ? form : of(*let->second);
  }

  const MapSpace& space_;
  int steps_ = 0;
};

using Point = std::array<std::int64_t, variables_max>;

// Every variable has an axis that it alone decides.
bool plainly_injective(const MapSpace& space, const std::vector<Form>& forms) {
  for (std::size_t v = 0; v < space.variables.size(); ++v) {
    if (space.extents[v] <= 1) continue;
    const auto alone = [&](const Form& form) {
      return form.affine && form.uses == (1u << v) && form.coefficient[v] != 0;
    };
    if (std::none_of(forms.begin(), forms.end(), alone)) return false;
  }
  return true;
}

std::string words(const Point& a, const Point& b, const std::vector<std::string>& names) {
  std::string first, second;
  for (std::size_t v = 0; v < names.size(); ++v) {
    first += (v ? ", " : "") + names[v] + " = " + std::to_string(a[v]);
    second += (v ? ", " : "") + names[v] + " = " + std::to_string(b[v]);
  }
  return "the iterations (" + first + ") and (" + second + ") write the same element";
}

std::optional<std::pair<Point, Point>> collide(const MapSpace& space, const std::vector<Form>& forms,
                                               std::int64_t points) {
  using Place = std::array<std::int64_t, axes_max>;
  std::vector<std::pair<Place, Point>> places;
  places.reserve(static_cast<std::size_t>(points));
  Point point{};
  for (std::int64_t n = 0; n < points; ++n) {
    std::int64_t rest = n;
    for (std::size_t v = space.variables.size(); v-- > 0;) {
      point[v] = rest % space.extents[v];
      rest /= space.extents[v];
    }
    Place place{};
    for (std::size_t axis = 0; axis < forms.size() && axis < axes_max; ++axis)
      for (std::size_t v = 0; v < space.variables.size(); ++v) place[axis] += forms[axis].coefficient[v] * point[v];
    places.emplace_back(place, point);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first == places[i - 1].first) return std::pair(places[i - 1].second, places[i].second);
  return std::nullopt;
}

}  // namespace

std::string find_double_write(const MapSpace& space, const std::vector<bound::ExprPtr>& indices,
                              const std::vector<std::string>& names) {
  std::vector<Form> forms;
  unsigned uses = 0;
  bool affine = true;
  Analysis analysis(space);
  for (const auto& index : indices) {
    forms.push_back(analysis.of(*index));
    uses |= forms.back().uses;
    affine = affine && forms.back().affine;
  }
  std::int64_t points = 1;
  for (std::size_t v = 0; v < space.variables.size(); ++v) {
    if (space.extents[v] > 1 && !(uses & (1u << v))) {
      Point one{};
      one[v] = 1;
      return words(Point{}, one, names);
    }
    points = points > points_max ? points : points * std::min(space.extents[v], points_max + 1);
  }
  if (!affine || points > points_max || plainly_injective(space, forms)) return "";
  const auto found = collide(space, forms, points);
  return found ? words(found->first, found->second, names) : "";
}

}  // namespace kiln::specialize

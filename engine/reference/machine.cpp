#include "engine/reference/machine.hpp"

#include <algorithm>

namespace kiln::reference {
namespace {

using bound::Value;

std::vector<Value> scalar_values(const std::vector<TensorState>& tensors) {
  std::vector<Value> values;
  for (const auto& t : tensors) values.push_back(t.tensor->scalar ? t.load(t.data) : bound::integer_value(0));
  return values;
}

void mark_written(const bound::Body& body, std::vector<bool>& written) {
  for (const auto& s : body) {
    if (const auto* copy = std::get_if<bound::Copy>(&s.node); copy && copy->to.is_tensor) written[copy->to.id] = true;
    if (const auto* map = std::get_if<bound::Map>(&s.node))
      for (const auto& item : map->body)
        if (item.let < 0 && item.tensor) written[item.target] = true;
    if (const auto* loop = std::get_if<bound::For>(&s.node)) mark_written(loop->body, written);
    if (const auto* choice = std::get_if<bound::If>(&s.node)) {
      mark_written(choice->then, written);
      mark_written(choice->otherwise, written);
    }
  }
}

}  // namespace

std::vector<std::int64_t> tile_indices(const bound::Tile& tile, std::int64_t offset) {
  std::vector<std::int64_t> indices(tile.shape.size());
  for (std::size_t i = tile.shape.size(); i-- > 0; offset /= tile.shape[i]) indices[i] = offset % tile.shape[i];
  return indices;
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

Machine::Machine(const bound::Program& program, const bound::Launch& launch, std::vector<TensorState>& tensors,
                 Budget& budget, bool check_races, bool with_scale)
    : program_(program),
      launch_(launch),
      tensors_(tensors),
      budget_(budget),
      check_races_(check_races),
      with_scale_(with_scale),
      book_(program, launch, scalar_values(tensors)) {
  place_.program = &program;
  place_.launch = &launch;
  for (const auto& tile : launch.tiles) {
    auto& state = tiles_.emplace_back();
    state.tile = &tile;
    const auto n = static_cast<std::size_t>(tile.elements());
    state.values.resize(n);
    state.written.resize(n);
    if (with_scale) state.scale.resize(n);
  }
  std::vector<bool> written(program.tensors.size());
  mark_written(launch.body, written);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].blocks.clear();
    tensors[i].watch.clear();
    if (check_races && written[i])
      tensors[i].blocks.resize(static_cast<std::size_t>(program.tensors[i].elements_span()));
  }
}

Status Machine::run() {
  const std::int64_t gx = launch_.grid[0].value(), gy = launch_.grid[1].value(), gz = launch_.grid[2].value();
  if (gx == 0 || gy == 0 || gz == 0) return {};
  const auto blocks = static_cast<__int128>(gx) * gy * gz;
  if (blocks >= Watch::none)
    return Error(ErrorCode::resource_limit, "the interpreter runs fewer than 2^32 - 1 blocks a launch");
  block_number_ = 0;
  for (std::int64_t z = 0; z < gz; ++z)
    for (std::int64_t y = 0; y < gy; ++y)
      for (std::int64_t x = 0; x < gx; ++x, ++block_number_) {
        place_.block = {x, y, z};
        for (int axis = 0; axis < 3; ++axis)
          book_.registers[static_cast<std::size_t>(book_.block_register(axis))] =
              bound::integer_value(place_.block[static_cast<std::size_t>(axis)]);
        for (auto& tile : tiles_) std::fill(tile.written.begin(), tile.written.end(), 0);
        KILN_CHECK(budget_.spend());
        left_ = false;
        KILN_CHECK(body(launch_.body));
      }
  return {};
}

Status Machine::body(const bound::Body& statements) {
  for (const auto& s : statements) {
    if (left_) break;
    KILN_CHECK(stmt(s));
  }
  return {};
}

Status Machine::stmt(const bound::Stmt& stmt) {
  const auto* outer = place_.stmt;
  place_.stmt = &stmt;
  KILN_CHECK(budget_.spend());
  KILN_CHECK(std::visit([this](const auto& node) { return run_node(node); }, stmt.node));
  place_.stmt = outer;
  return {};
}

Result<Value> Machine::evaluate(const bound::Expr& expr, double* scale) {
  const Code& code = book_.of(expr);
  if (!execute_code(code)) return std::move(*finding_);
  if (scale) *scale = book_.scales[static_cast<std::size_t>(code.result)];
  return book_.registers[static_cast<std::size_t>(code.result)];
}

Result<std::int64_t> Machine::evaluate_index(const bound::Expr& expr) {
  if (expr.kind == bound::Expr::Kind::integer) return expr.integer;
  KILN_TRY(const auto value, evaluate(expr));
  return value.integer;
}

Status Machine::run_node(const bound::Fill& fill) {
  double scale = 0;
  KILN_TRY(const auto value, evaluate(*fill.value, &scale));
  auto& tile = tiles_[static_cast<std::size_t>(fill.tile)];
  std::fill(tile.values.begin(), tile.values.end(), value);
  std::fill(tile.written.begin(), tile.written.end(), 1);
  if (with_scale_) std::fill(tile.scale.begin(), tile.scale.end(), scale);
  return budget_.spend(static_cast<std::int64_t>(tile.values.size()));
}

Status Machine::run_node(const bound::For& loop) {
  KILN_TRY(const auto from, evaluate_index(*loop.from));
  KILN_TRY(const auto to, evaluate_index(*loop.to));
  const auto step = loop.step->integer;
  for (std::int64_t i = from; i < to;) {
    book_.registers[static_cast<std::size_t>(loop.var)] = bound::integer_value(i);
    KILN_CHECK(budget_.spend());
    KILN_CHECK(body(loop.body));
    if (left_ || static_cast<__int128>(i) + step >= to) break;
    i += step;
  }
  return {};
}

Status Machine::run_node(const bound::If& choice) {
  KILN_TRY(const auto condition, evaluate(*choice.condition));
  return body(condition.integer != 0 ? choice.then : choice.otherwise);
}

Status Machine::run_node(const bound::Leave& leave) {
  KILN_TRY(const auto condition, evaluate(*leave.condition));
  left_ = condition.integer != 0;
  return {};
}

Status Machine::run_node(const bound::Let& let) {
  double scale = 0;
  KILN_TRY(const auto value, evaluate(*let.value, &scale));
  book_.registers[static_cast<std::size_t>(let.var)] = value;
  book_.scales[static_cast<std::size_t>(let.var)] = scale;
  return {};
}

Status Machine::run_node(const bound::Map& map) {
  std::int64_t iterations = 1;
  for (const auto extent : map.extent) iterations *= extent;
  const Code& code = book_.of(map);
  const auto cost = static_cast<std::int64_t>(code.instructions.size()) + 1;
  if (check_races_) {
    ++epoch_;
    for (const auto& item : map.body) {
      if (item.let >= 0) continue;
      if (item.tensor) {
        auto& tensor = tensors_[static_cast<std::size_t>(item.target)];
        tensor.watch.resize(static_cast<std::size_t>(tensor.tensor->elements_span()));
      } else {
        auto& tile = tiles_[static_cast<std::size_t>(item.target)];
        tile.watch.resize(tile.values.size());
      }
    }
  }
  std::vector<std::int64_t> at(map.index.size(), 0);
  for (const int id : map.index) book_.registers[static_cast<std::size_t>(id)] = bound::integer_value(0);
  place_.map = &map;
  for (place_.iteration = 0; place_.iteration < iterations; ++place_.iteration) {
    KILN_CHECK(budget_.spend(cost));
    if (!execute_code(code)) return std::move(*finding_);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] == map.extent[axis]) at[axis] = 0;
      book_.registers[static_cast<std::size_t>(map.index[axis])] = bound::integer_value(at[axis]);
      if (at[axis] != 0) break;
    }
  }
  place_.map = nullptr;
  return {};
}

}  // namespace kiln::reference

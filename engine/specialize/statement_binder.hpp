// From statements as written to bound statements: compile-time conditions decided, tiles and variables numbered, shapes
// and types of copy, gemm and reduce checked.
#pragma once

#include "engine/specialize/expression_binder.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::specialize {

class StatementBinder {
 public:
  StatementBinder(BindContext& context, const Bindings& bindings)
      : context_(context), bindings_(bindings), binder_(context) {}

  // Binds `statements` after what `out` holds, in a scope of their own.
  void body(const tile::Body& statements, bound::Body& out);
  bound::LaunchSchedule schedule_of(const tile::LaunchSchedule& asked);
  // What stands in front of a launch's body: it ends where an assertion of an earlier launch has failed.
  void leave_after_earlier_launches(const tile::Launch& launch, bound::Body& out);

 private:
  using Stmt = tile::Stmt;
  void statement(const Stmt& stmt, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Alloc& alloc, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Copy& copy, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Fill& fill, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Gemm& gemm, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Map& map, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Reduce& reduce, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Scan& scan, bound::Body& out);
  void bind(const Stmt& stmt, const tile::For& loop, bound::Body& out);
  void bind(const Stmt& stmt, const tile::If& branch, bound::Body& out);
  void bind(const Stmt& stmt, const tile::Let& let, bound::Body& out);
  void bind(const Stmt&, const tile::Sync&, bound::Body&) {}
  void bind(const Stmt& stmt, const tile::Message& message, bound::Body& out);

  void mistake(const std::string& pointer, About about, Finding finding) {
    context_.findings.add(pointer, about, std::move(finding));
  }
  void emit(const Stmt& stmt, bound::Body& out, decltype(bound::Stmt::node) node) {
    out.push_back({stmt.pointer, std::move(node)});
  }

  // ---- statement_binder.cpp
  TileState* tile(const std::string& name, const std::string& pointer, int& index);
  LayoutSpec layout_of(const Stmt& stmt, const tile::Alloc& alloc, const bound::Tile& tile);
  Range loop_range(const Value& from, const Value& to, std::int64_t step) const;
  void dead_body(const tile::Body& statements);
  bool unrolled_bounds(const Stmt& stmt, const Value& from, const Value& to);

  // ---- copy_binder.cpp
  struct Extent {
    std::int64_t size = 0;
    enum class Kind : std::uint8_t { exact, at_most, any, unknown } kind = Kind::any;
  };
  struct Side {
    bound::Region region;
    int tile = -1;  // index among the context's tiles
    std::vector<Range> shape;
    DType dtype = DType::f32;
    std::vector<Extent> extents;    // of the ranged axes
    std::vector<std::size_t> axes;  // the ranged axes
    std::vector<Range> starts;      // of all axes
    std::string name;
  };
  bool side(const tile::Region& region, bool written, Side& side);
  bool side_storage(const tile::Region& region, bool written, Side& side);
  bool side_axes(const tile::Region& region, Side& side);
  bool extents(const Stmt& stmt, const Side& from, const Side& to, std::vector<std::int64_t>& shape);
  void check_bounds(const tile::Region& region, const Side& side, const std::vector<std::int64_t>& shape);
  bool limits(const tile::Copy& copy, const Side& tensor, bound::Copy& bound);

  // ---- schedule_binder.cpp
  // What a program asks of lowering; mistakes are reported and leave lowering its choice.
  int number(const tile::Text& text, int least, int most, const std::string& what);
  int power_of_two(const tile::Text& text, int most, const std::string& what);
  bound::GemmSchedule schedule_of(const tile::GemmSchedule& asked);
  bound::CopySchedule schedule_of(const tile::Copy& copy, DType dtype, bool in_memory);
  std::vector<bound::Turn> turns_of(const Stmt& stmt, const tile::For& loop, int stages);
  void loop_body(const Stmt& stmt, const tile::For& loop, int stages, bound::Body& out);

  // ---- map_binder.cpp
  struct MapState;
  bool map_space(const Stmt& stmt, const tile::Map& map, MapState& state);
  bool map_let(const tile::MapItem& item, MapState& state);
  bool map_set(const tile::MapItem& item, MapState& state);
  bool map_set_where(const tile::MapItem& item, bound::ExprPtr where, MapState& state);
  bool map_indices(const tile::MapItem& item, const bound::Extents& shape, MapState& state, bound::MapItem& bound);
  bool drop(const tile::MapItem& item);
  bool writes_once(const tile::MapItem& item, const bound::MapItem& bound, MapState& state);
  bool map_target(const tile::MapItem& item, bound::MapItem& bound, bound::Extents& shape, DType& dtype);
  bool atomic_target(const tile::MapItem& item, const bound::Tensor& tensor);
  void declare_old(const tile::MapItem& item, DType dtype, bound::MapItem& bound, MapState& state);

  // ---- message_binder.cpp
  bool map_message(const tile::MapItem& item, MapState& state);
  bool message_where(const tile::MapItem& item, const bound::ExprPtr& where, MapState& state);
  bool message_values(const tile::Message& message, std::vector<Value>& values);
  std::int64_t add_site(const tile::MapItem& item, const std::vector<Value>& values, const MapState& state);
  bound::ExprPtr add_let(const std::string& name, bound::ExprPtr value, MapState& state);
  bound::ExprPtr block_id(int axis) const;
  void write_record(bool asserts, std::int64_t site, const bound::ExprPtr& happens, const std::vector<Value>& values,
                    MapState& state);
  void tell_later_launches(const bound::ExprPtr& failed, MapState& state);
  void keep_failures(MapState& state);
  void leave_after(const MapState& state, bound::Body& out);

  BindContext& context_;
  const Bindings& bindings_;
  ExpressionBinder binder_;
};

}  // namespace kiln::specialize

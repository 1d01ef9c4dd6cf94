// The canonical encoding of bound programs. Bump `version` when the bytes of an unchanged program would change: keys
// and cache entries of older builds must not meet newer ones.
#include "engine/ir/bound/program.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace kiln::bound {
namespace {

constexpr std::uint32_t magic = 0x504e424b;  // "KBNP"
constexpr std::uint8_t version = 4;
constexpr std::uint8_t no_expression = 0xff;
constexpr std::size_t program_bytes_max = std::size_t(32) << 20;  // 65 536 nodes need far less

// ---- writing ------------------------------------------------------------------------------------------------------
void write_expression(Writer& w, const ExprPtr& pointer);

void write_expressions(Writer& w, const std::vector<ExprPtr>& list) {
  w.list(list, [](Writer& out, const ExprPtr& e) { write_expression(out, e); });
}
void write_expression(Writer& w, const ExprPtr& pointer) {
  if (!pointer) return w.u8(no_expression);
  const Expr& e = *pointer;
  w.enumeration(e.kind);
  w.enumeration(e.type);
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::integer: case Kind::block: case Kind::variable: case Kind::scalar: case Kind::symbol:
      return w.i64(e.integer);
    case Kind::real: return w.f64(std::isnan(e.real) ? std::numeric_limits<double>::quiet_NaN() : e.real);
    case Kind::unary: case Kind::binary: case Kind::call: w.enumeration(e.op); break;
    case Kind::tile: case Kind::tensor: w.i64(e.integer); break;
    case Kind::select: case Kind::cast: break;
  }
  write_expressions(w, e.args);
}

class Encoder {
 public:
  explicit Encoder(bool with_names) : with_names_(with_names) {}

  Bytes program(const Program& program) {
    w_.u32(magic);
    w_.u8(version);
    w_.boolean(with_names_);
    w_.string(program.name);
    w_.string(program.target);
    w_.boolean(program.clips);
    w_.list(program.symbols, [&](Writer&, const Symbol& s) { symbol(s); });
    w_.list(program.tensors, [&](Writer&, const Tensor& t) { tensor(t); });
    w_.list(program.launches, [&](Writer&, const Launch& l) { launch(l); });
    if (program.records >= 0) records(program);  // nothing otherwise: other programs keep their bytes
    return w_.take();
  }

 private:
  void name(const std::string& text) { w_.string(with_names_ ? std::string_view(text) : std::string_view()); }
  void integers(const std::vector<std::int64_t>& list) {
    w_.list(list, [](Writer& w, std::int64_t v) { w.i64(v); });
  }
  void extents(const Extents& list) {
    w_.list(list, [](Writer& w, const Extent& extent) { write_extent(w, extent); });
  }
  void id(int v) { w_.u32(static_cast<std::uint32_t>(v)); }

  // Texts and pointers are part of the key: what a launch says of its records is stored with the object.
  void records(const Program& program) {
    id(program.records);
    w_.list(program.sites, [&](Writer&, const RecordSite& site) { write_site(w_, site); });
  }
  void symbol(const Symbol& s) {
    name(s.name);
    w_.i64(s.min);
    w_.i64(s.max);
    w_.i64(s.multiple_of);
  }
  void tensor(const Tensor& t) {
    name(t.name);
    w_.enumeration(t.dtype);
    w_.boolean(t.scalar);
    extents(t.shape);
    extents(t.strides);
    w_.enumeration(t.access);
    w_.i64(t.align_bytes);
    w_.boolean(t.may_alias);
    w_.boolean(t.workspace);
    w_.boolean(t.zeroed);
  }
  void layout(const LayoutSpec& l) {
    w_.enumeration(l.kind);
    w_.i64(l.pad_bytes);
    w_.i64(l.chunk_bytes);
    w_.i64(l.row_divisor);
    w_.i64(l.rows_mod);
  }
  void launch(const Launch& l) {
    extents(l.grid);
    id(l.threads);
    w_.i64(l.schedule.order.panel);
    w_.boolean(l.schedule.order.along_y);
    id(l.schedule.waves_m), id(l.schedule.waves_n);
    w_.boolean(l.schedule.hint);
    w_.list(l.tiles, [&](Writer&, const Tile& t) {
      name(t.name);
      w_.enumeration(t.dtype);
      w_.enumeration(t.space);
      integers(t.shape);
      layout(t.layout);
    });
    w_.list(l.variables, [&](Writer&, const Variable& v) { name(v.name); w_.enumeration(v.type); });
    body(l.body);
  }
  void body(const Body& b) {
    w_.list(b, [&](Writer&, const Stmt& s) { stmt(s); });
  }
  void stmt(const Stmt& s) {
    name(s.pointer);
    w_.u8(static_cast<std::uint8_t>(s.node.index()));
    std::visit([&](const auto& node) { write(node); }, s.node);
    id(s.turn.position), id(s.turn.stage);
  }

  void expr(const ExprPtr& pointer) { write_expression(w_, pointer); }
  void exprs(const std::vector<ExprPtr>& list) { write_expressions(w_, list); }
  void region(const Region& r) {
    w_.boolean(r.is_tensor);
    id(r.id);
    exprs(r.start);
    w_.count(r.ranged.size());
    for (const bool ranged : r.ranged) w_.boolean(ranged);
  }

  void write(const Copy& c) {
    region(c.from);
    region(c.to);
    integers(c.shape);
    expr(c.fill);
    exprs(c.limit);
    id(c.schedule.vector_bytes);
    w_.boolean(c.schedule.hint);
  }
  void write(const Fill& f) { id(f.tile); expr(f.value); }
  void write(const Gemm& g) {
    id(g.a), id(g.b), id(g.c);
    w_.boolean(g.transpose_a), w_.boolean(g.transpose_b), w_.boolean(g.clear);
    const GemmSchedule& s = g.schedule;
    for (const int value : {s.m, s.n, s.k, s.k_pack, s.waves_m, s.waves_n}) id(value);
    w_.boolean(s.hint);
  }
  void write(const Map& m) {
    w_.list(m.index, [&](Writer&, int v) { id(v); });
    integers(m.extent);
    w_.list(m.body, [&](Writer&, const MapItem& item) {
      id(item.let);
      w_.boolean(item.tensor);
      id(item.target);
      exprs(item.indices);
      expr(item.value);
      expr(item.where);
      w_.enumeration(item.atomic);
      expr(item.compare);
      id(item.old);
    });
  }
  void write(const Reduce& r) {
    w_.enumeration(r.op);
    id(r.from), id(r.to), id(r.axis);
    w_.boolean(r.accumulate);
  }
  void write(const Scan& s) {
    w_.enumeration(s.op);
    id(s.from), id(s.to), id(s.axis);
    w_.boolean(s.reverse);
  }
  void write(const For& f) {
    id(f.var);
    expr(f.from), expr(f.to), expr(f.step);
    w_.enumeration(f.kind);
    id(f.stages);
    w_.boolean(f.hint);
    body(f.body);
  }
  void write(const If& i) { expr(i.condition); body(i.then); body(i.otherwise); }
  void write(const Let& l) { id(l.var); expr(l.value); }
  void write(const Leave& l) { expr(l.condition); }

  Writer w_;
  bool with_names_;
};

// ---- reading ------------------------------------------------------------------------------------------------------
// Depths are limited here, before anything recurses over what was read; everything else is check's.
ExprPtr read_expression(Reader& r, int depth);

std::vector<ExprPtr> read_expressions(Reader& r, int depth) {
  return r.list<ExprPtr>([&](Reader& in) { return read_expression(in, depth); });
}
ExprPtr read_expression(Reader& r, int depth) {
  const auto kind = r.u8();
  if (kind == no_expression) return nullptr;
  if (kind > static_cast<std::uint8_t>(Expr::Kind::tensor) || depth >= expression_depth_max || !r.ok()) {
    r.fail();
    return nullptr;
  }
  Expr e;
  e.kind = static_cast<Expr::Kind>(kind);
  e.type = r.enumeration(dtype_last);
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::integer: case Kind::block: case Kind::variable: case Kind::scalar: case Kind::symbol:
      e.integer = r.i64();
      break;
    case Kind::real: e.real = r.f64(); break;
    case Kind::unary:
    case Kind::binary:
    case Kind::call:
      e.op = r.enumeration(op_last);
      e.args = read_expressions(r, depth + 1);
      break;
    case Kind::tile: case Kind::tensor: e.integer = r.i64(); e.args = read_expressions(r, depth + 1); break;
    case Kind::select: case Kind::cast: e.args = read_expressions(r, depth + 1); break;
  }
  return std::make_shared<const Expr>(std::move(e));
}

class Decoder {
 public:
  explicit Decoder(ByteView bytes) : r_(bytes) {}

  Result<Program> program() {
    Program p;
    if (r_.u32() != magic || r_.u8() != version || !flag())
      return Error(ErrorCode::corrupt, "no bound program of this version");
    p.name = r_.string();
    p.target = r_.string();
    p.clips = flag();
    p.symbols = r_.list<Symbol>([&](Reader&) { return symbol(); });
    p.tensors = r_.list<Tensor>([&](Reader&) { return tensor(); });
    p.launches = r_.list<Launch>([&](Reader&) { return launch(); });
    if (r_.ok() && r_.left() > 0) {
      p.records = id();
      p.sites = r_.list<RecordSite>(read_site);
      if (p.records < 0) r_.fail();
    }
    if (auto end = r_.finish(); !end) return Error(ErrorCode::corrupt, "bound program: " + end.error().message);
    KILN_CHECK(check(p));
    return p;
  }

 private:
  // Only 0 and 1, so that equal programs have equal bytes.
  bool flag() {
    const auto v = r_.u8();
    if (v > 1) r_.fail();
    return v == 1;
  }
  int id() { return static_cast<int>(r_.u32()); }
  std::vector<std::int64_t> integers() {
    return r_.list<std::int64_t>([](Reader& r) { return r.i64(); });
  }

  Extents extents() {
    return r_.list<Extent>([](Reader& r) { return read_extent(r); });
  }

  Symbol symbol() {
    Symbol s;
    s.name = r_.string();
    s.min = r_.i64();
    s.max = r_.i64();
    s.multiple_of = r_.i64();
    return s;
  }
  Tensor tensor() {
    Tensor t;
    t.name = r_.string();
    t.dtype = r_.enumeration(dtype_last);
    t.scalar = flag();
    t.shape = extents();
    t.strides = extents();
    t.access = r_.enumeration(Access::readwrite);
    t.align_bytes = r_.i64();
    t.may_alias = flag();
    t.workspace = flag();
    t.zeroed = flag();
    return t;
  }
  LayoutSpec layout() {
    LayoutSpec l;
    l.kind = r_.enumeration(LayoutSpec::Kind::swizzle);
    l.pad_bytes = r_.i64();
    l.chunk_bytes = r_.i64();
    l.row_divisor = r_.i64();
    l.rows_mod = r_.i64();
    return l;
  }
  Launch launch() {
    Launch l;
    l.grid = extents();
    l.threads = id();
    l.schedule.order.panel = r_.i64();
    l.schedule.order.along_y = flag();
    l.schedule.waves_m = id(), l.schedule.waves_n = id();
    l.schedule.hint = flag();
    l.tiles = r_.list<Tile>([&](Reader&) {
      Tile t;
      t.name = r_.string();
      t.dtype = r_.enumeration(dtype_last);
      t.space = r_.enumeration(Space::local);
      t.shape = integers();
      t.layout = layout();
      return t;
    });
    l.variables = r_.list<Variable>([&](Reader&) {
      Variable v;
      v.name = r_.string();
      v.type = r_.enumeration(dtype_last);
      return v;
    });
    l.body = body(0);
    return l;
  }
  Body body(int depth) {
    if (depth > statement_depth_max) r_.fail();
    return r_.list<Stmt>([&](Reader&) { return stmt(depth); });
  }

  Stmt stmt(int depth) {
    Stmt s;
    s.pointer = r_.string();
    switch (r_.u8()) {
      case 0: s.node = copy(); break;
      case 1: { Fill f; f.tile = id(); f.value = expr(); s.node = std::move(f); break; }
      case 2: s.node = gemm(); break;
      case 3: s.node = map(); break;
      case 4: s.node = reduce(); break;
      case 5: s.node = scan(); break;
      case 6: s.node = loop(depth); break;
      case 7: {
        If i;
        i.condition = expr();
        i.then = body(depth + 1);
        i.otherwise = body(depth + 1);
        s.node = std::move(i);
        break;
      }
      case 8: { Let l; l.var = id(); l.value = expr(); s.node = std::move(l); break; }
      case 9: s.node = Leave{expr()}; break;
      default: r_.fail();
    }
    s.turn.position = id(), s.turn.stage = id();
    return s;
  }

  ExprPtr expr(int depth = 0) { return read_expression(r_, depth); }
  std::vector<ExprPtr> exprs(int depth = 0) { return read_expressions(r_, depth); }
  Region region() {
    Region r;
    r.is_tensor = flag();
    r.id = id();
    r.start = exprs();
    r.ranged = r_.list<bool>([&](Reader&) { return flag(); });
    return r;
  }

  Copy copy() {
    Copy c;
    c.from = region();
    c.to = region();
    c.shape = integers();
    c.fill = expr();
    c.limit = exprs();
    c.schedule.vector_bytes = id();
    c.schedule.hint = flag();
    return c;
  }
  Gemm gemm() {
    Gemm g;
    g.a = id(), g.b = id(), g.c = id();
    g.transpose_a = flag(), g.transpose_b = flag(), g.clear = flag();
    GemmSchedule& s = g.schedule;
    for (int* value : {&s.m, &s.n, &s.k, &s.k_pack, &s.waves_m, &s.waves_n}) *value = id();
    s.hint = flag();
    return g;
  }
  Map map() {
    Map m;
    m.index = r_.list<int>([&](Reader&) { return id(); });
    m.extent = integers();
    m.body = r_.list<MapItem>([&](Reader&) {
      MapItem item;
      item.let = id();
      item.tensor = flag();
      item.target = id();
      item.indices = exprs();
      item.value = expr();
      item.where = expr();
      item.atomic = r_.enumeration(tile::AtomicOp::cas);
      item.compare = expr();
      item.old = id();
      return item;
    });
    return m;
  }
  Reduce reduce() {
    Reduce r;
    r.op = r_.enumeration(tile::ReduceOp::argmin);
    r.from = id(), r.to = id(), r.axis = id();
    r.accumulate = flag();
    return r;
  }
  Scan scan() {
    Scan s;
    s.op = r_.enumeration(tile::ReduceOp::min);
    s.from = id(), s.to = id(), s.axis = id();
    s.reverse = flag();
    return s;
  }
  For loop(int depth) {
    For f;
    f.var = id();
    f.from = expr(), f.to = expr(), f.step = expr();
    f.kind = r_.enumeration(tile::For::Kind::pipelined);
    f.stages = id();
    f.hint = flag();
    f.body = body(depth + 1);
    return f;
  }

  Reader r_;
};

}  // namespace

void write_site(Writer& writer, const RecordSite& site) {
  writer.string(site.pointer);
  writer.string(site.text);
  writer.boolean(site.asserts);
  writer.list(site.extent, [](Writer& w, std::int64_t extent) { w.i64(extent); });
  writer.list(site.values, [](Writer& w, DType type) { w.enumeration(type); });
}

RecordSite read_site(Reader& reader) {
  RecordSite site;
  site.pointer = reader.string();
  site.text = reader.string();
  const auto asserts = reader.u8();
  if (asserts > 1) reader.fail();
  site.asserts = asserts == 1;
  site.extent = reader.list<std::int64_t>([](Reader& r) { return r.i64(); });
  site.values = reader.list<DType>([](Reader& r) { return r.enumeration(dtype_last); });
  return site;
}

void write_extent(Writer& writer, const Extent& extent) {
  writer.boolean(extent.is_static());
  if (extent.is_static()) writer.i64(extent.value());
  else write_expression(writer, extent.expr());
}

Extent read_extent(Reader& reader) {
  const auto is_static = reader.u8();
  if (is_static > 1) reader.fail();
  if (is_static != 0) return reader.i64();
  auto expr = read_expression(reader, 0);
  if (!expr || expr->kind == Expr::Kind::integer) reader.fail();  // not as write_extent gives it
  return reader.ok() ? Extent(std::move(expr)) : Extent();
}

Bytes encode(const Program& program, bool with_names) { return Encoder(with_names).program(program); }

Result<Program> decode(ByteView bytes) {
  if (bytes.size() > program_bytes_max) return Error(ErrorCode::corrupt, "bound program of over 32 MiB");
  return Decoder(bytes).program();
}

}  // namespace kiln::bound

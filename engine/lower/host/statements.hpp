// Statements of a bound launch as statements of a host kernel program.
#pragma once

#include <string>
#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/ir/kernel/program.hpp"
#include "engine/lower/bounds.hpp"
#include "engine/lower/host/needs.hpp"
#include "engine/lower/host/tiles.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::host {

// Translates one launch; storages 0 … tiles-1 stand for the tiles. Used once.
class Translator {
 public:
  Translator(const bound::Program& program, const bound::Launch& launch, Plans& plans, kernel::Launch& out,
             Lowered& report, Budget& budget)
      : program_(program),
        launch_(launch),
        plans_(plans),
        out_(out),
        report_(report),
        budget_(budget),
        facts_(launch.grid, program.symbols),
        needs_(find_needs(program, launch)) {}
  Result<kernel::Body> translate();

 private:
  Status body(const bound::Body& statements, kernel::Body& out);
  Status statement(const bound::Body& siblings, const bound::Stmt& stmt, kernel::Body& out);
  void copy(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out);
  bool direct(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out);
  void copy_as_map(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out);
  void gemm(const bound::Body& siblings, const bound::Stmt& stmt, const bound::Gemm& gemm, kernel::Body& out);
  int operand_copy(const bound::Stmt& stmt, int tile, int contiguous, std::int64_t rows, std::int64_t columns,
                   kernel::Body& out);
  void map(const bound::Stmt& stmt, const bound::Map& map, kernel::Body& out);
  void reduce(const bound::Stmt& stmt, const bound::Reduce& reduce, kernel::Body& out);
  bound::ExprPtr zero_beyond(const bound::Body& siblings, const bound::Stmt& gemm, int tile, int axis) const;
  Status loop(const bound::Stmt& stmt, const bound::For& loop, kernel::Body& out);

  // A map and the flags of its accesses.
  kernel::Map checked_map(const bound::Stmt& stmt, std::vector<int> index, std::vector<std::int64_t> extent,
                          std::vector<bound::MapItem> items);
  bool access_checked(const bound::Stmt& stmt, bool tensor, int id, const std::vector<bound::ExprPtr>& indices);
  void note_left(const bound::Stmt& stmt, const std::string& what, const std::string& why);
  int new_variable(const std::string& name);
  bound::ExprPtr element(bool tensor, int id, std::vector<bound::ExprPtr> indices) const;
  [[nodiscard]] bound::Extents shape_of(bool tensor, int id) const;
  [[nodiscard]] const std::string& name_of(bool tensor, int id) const;

  const bound::Program& program_;
  const bound::Launch& launch_;
  Plans& plans_;
  kernel::Launch& out_;
  Lowered& report_;
  Budget& budget_;
  Facts facts_;
  Needs needs_;
  std::size_t next_gemm_ = 0;
};

}  // namespace kiln::lower::host

// The command line that `kiln compare` and `kiln report` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/cli/python_source.hpp"

namespace kiln::cli {

struct CompareArguments {
  std::string a, b;                                        // "" for b: the same program as a
  std::vector<std::string> set, set_a, set_b;              // NAME=VALUE
  std::vector<std::string> layouts, layouts_a, layouts_b;  // TILE=LAYOUT
  std::vector<std::string> over;                           // NAME[,NAME…]=V1,V2,…
  std::vector<std::string> arguments, scalars;             // NAME=DTYPE[dims] of Python functions; NAME=NUMBER
  std::vector<std::string> arguments_a, arguments_b;       // of one side
  std::vector<std::string> renamed;                        // B's name of a parameter = A's
  std::vector<std::string> also;                           // targets, or lists of them
  std::string grid;                                        // of Python functions, for both; "": their own
  std::string device = "host";
  int rounds = 11;
  std::uint64_t seed = 0;
  int seconds = 60;  // of an interpretation, or of counting on one more target, at most
  int launch_seconds = 60;  // that one launch may take
  bool no_check = false;

  void add_to(CLI::App& command);
};

// One of the sizes that --over names, with what each side is set to. `text` names it in tables: "seq=1024".
struct Size {
  Settings over;
  std::string text;
};

// What the words mean, read once.
struct ComparePlan {
  CompareArguments words;
  ProgramSpec a, b;
  Settings set, set_a, set_b;
  Settings layouts_a, layouts_b;
  protocol::Json scalars;
  std::vector<std::string> arguments_a, arguments_b;  // of emit
  protocol::Json renamed;         // {B's name of a parameter: A's}
  std::vector<Size> sizes;        // at least one; without --over its `over` is empty
  std::vector<std::string> also;  // each target once
};
// Errors: usage_error, with the word that is wrong.
Result<ComparePlan> read_plan(Context& context, const CompareArguments& words);

// The command line that repeats the comparison, quoted for a shell. `command`: "kiln compare".
std::string command_text(const std::string& command, const CompareArguments& words);
std::string shell_quoted(const std::string& word);

}  // namespace kiln::cli

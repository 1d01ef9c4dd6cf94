#include <gtest/gtest.h>

#include "engine/emit/emit.hpp"

namespace kiln::emit {
namespace {

TEST(LineOwners, linesBelongToTheMarkBefore) {
  const auto owners = owners_of_lines("kernel {\n  // @body/0 /launches/0/body/3\n  a();\n  // @body/1/for/2\n    b();\n}\n\nx\n");
  ASSERT_EQ(owners.size(), 9u);
  EXPECT_EQ(owners[1].path, "");
  EXPECT_EQ(owners[3].path, "body/0");
  EXPECT_EQ(owners[3].pointer, "/launches/0/body/3");
  EXPECT_EQ(owners[5].path, "body/1/for/2");
  EXPECT_EQ(owners[5].pointer, "");
  EXPECT_EQ(owners[6].path, "");   // the kernel's end
  EXPECT_EQ(owners[8].path, "");
}

}  // namespace
}  // namespace kiln::emit

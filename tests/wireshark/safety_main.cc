#include "dissection.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // ctest queries each build for the names of its cases.
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  rpcrdma::wireshark::testing::init_wireshark(argv[0]);
  const int status = RUN_ALL_TESTS();
  // Skips Wireshark's cleanup, which takes minutes to free memory of every opened file. A case of
  // its own checks that the plugin frees its memory.
  std::fflush(nullptr);
  std::_Exit(status);
}

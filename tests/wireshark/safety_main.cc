#include "dissection.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // ctest asks each build for the names of its cases.
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  rpcrdma::wireshark::testing::init_wireshark(argv[0]);
  const int status = RUN_ALL_TESTS();
  // Wireshark takes minutes to give back what it keeps of every file that was opened. That ours
  // is given back is a case of its own.
  std::fflush(nullptr);
  std::_Exit(status);
}

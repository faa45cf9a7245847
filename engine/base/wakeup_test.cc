#include <gtest/gtest.h>
#include <poll.h>

#include <rpcrdma/base/wakeup.h>

namespace rpcrdma::base {
namespace {

bool readable(const Wakeup& wakeup) {
  pollfd wait{wakeup.fd(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

TEST(Wakeup, IsReadableFromNotifyToClear) {
  const auto wakeup = Wakeup::create();
  ASSERT_TRUE(wakeup);
  EXPECT_FALSE(readable(*wakeup));
  wakeup->notify();
  wakeup->notify();
  EXPECT_TRUE(readable(*wakeup));
  wakeup->clear();
  EXPECT_FALSE(readable(*wakeup));
}

TEST(Wakeup, DoesNothingWithoutADescriptor) {
  const Wakeup none;
  none.notify();
  EXPECT_FALSE(readable(none));
}

}  // namespace
}  // namespace rpcrdma::base

// Handles on a fake device that implements only memory windows.
#include "handles.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::verbs {
namespace {

class VerbsHandles : public ::testing::Test {
 protected:
  VerbsHandles() {
    existing.clear();
    most = 100;
    context_.ops.alloc_mw = [](ibv_pd* domain, ibv_mw_type type) -> ibv_mw* {
      if (existing.size() == most) {
        errno = ENOMEM;
        return nullptr;
      }
      static std::uint32_t index = 0;
      auto* const window = new ibv_mw{domain->context, domain, ++index << 8U | 0xff, 0, type};
      existing.insert(window);
      return window;
    };
    context_.ops.dealloc_mw = [](ibv_mw* window) {
      EXPECT_EQ(existing.erase(window), 1U);
      delete window;
      return 0;
    };
    domain_.context = &context_;
  }

  static std::set<ibv_mw*> existing;
  static std::size_t most;
  ibv_context context_{};
  ibv_pd domain_{};
};
std::set<ibv_mw*> VerbsHandles::existing;
std::size_t VerbsHandles::most;

TEST_F(VerbsHandles, AWindowIsUsedAgainUnderAnotherHandle) {
  Handles handles(&domain_, true);
  const Handles::Window first = handles.take_window(1);
  EXPECT_EQ(first.handle >> 8U, first.window->rkey >> 8U);
  EXPECT_EQ(first.handle & 0xffU, 0U);  // after 0xff, with which the window was allocated
  EXPECT_TRUE(handles.end(1, first.handle));
  const Handles::Window second = handles.take_window(2);
  EXPECT_EQ(second.window, first.window);
  EXPECT_EQ(second.handle, first.handle + 1);
  EXPECT_EQ(existing.size(), 1U);
}

TEST_F(VerbsHandles, AHandleIsOfOneConnectionAndOneTime) {
  Handles handles(&domain_, true);
  const std::uint32_t handle = handles.take_window(1).handle;
  EXPECT_FALSE(handles.begin_end(2, handle));
  EXPECT_FALSE(handles.end(2, handle));
  EXPECT_FALSE(handles.begin_end(1, handle + 1));
  EXPECT_TRUE(handles.begin_end(1, handle));
  EXPECT_FALSE(handles.begin_end(1, handle));
  EXPECT_TRUE(handles.end(1, handle));
  EXPECT_FALSE(handles.end(1, handle));
}

TEST_F(VerbsHandles, AreCountedForEachConnection) {
  Handles handles(&domain_, true);
  const std::uint32_t handle = handles.take_window(1).handle;
  (void)handles.take_window(1);
  (void)handles.take_window(2);
  EXPECT_EQ(handles.of(1), 2U);
  EXPECT_EQ(handles.of(2), 1U);
  EXPECT_EQ(handles.of(3), 0U);
  EXPECT_TRUE(handles.end(1, handle));
  EXPECT_EQ(handles.of(1), 1U);
}

TEST_F(VerbsHandles, WindowsOfAConnectionThatEndsAreGivenUp) {
  {
    Handles handles(&domain_, true);
    const Handles::Window kept = handles.take_window(2);
    (void)handles.take_window(1);
    const std::uint32_t handle = handles.take_window(1).handle;
    EXPECT_TRUE(handles.begin_end(1, handle));
    handles.end_all(1);
    EXPECT_EQ(existing, std::set<ibv_mw*>{kept.window});
    EXPECT_EQ(handles.of(1), 0U);
    EXPECT_FALSE(handles.end(1, handle));
    EXPECT_TRUE(handles.end(2, kept.handle));
    EXPECT_EQ(existing.size(), 1U);
  }
  EXPECT_TRUE(existing.empty());
}

TEST_F(VerbsHandles, ADeviceHasSoManyWindowsAndNoMore) {
  Handles handles(&domain_, true);
  most = 1;
  const std::uint32_t handle = handles.take_window(1).handle;
  EXPECT_EQ(handles.take_window(1).window, nullptr);
  EXPECT_EQ(handles.of(1), 1U);
  EXPECT_TRUE(handles.end(1, handle));
  EXPECT_NE(handles.take_window(1).window, nullptr);
}

}  // namespace
}  // namespace rpcrdma::verbs

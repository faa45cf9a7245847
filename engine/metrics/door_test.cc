// A new client always has a place, and nobody keeps one for longer than the limits allow.
#include "door.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

namespace rpcrdma::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DoorLimits kPatient{4, 3, std::chrono::hours(1), std::chrono::hours(1)};

PeerKey peer(std::uint8_t last) {
  PeerKey key{};
  key[15] = last;
  return key;
}

// Collects the ended sockets.
class Ended {
 public:
  void operator()(int fd) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(fd);
    changed_.notify_all();
  }
  std::vector<int> all() {
    const std::scoped_lock lock(mutex_);
    return all_;
  }
  bool comes_to(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return all_.size() >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> all_;
};

TEST(Door, APeerWithTooManyPlacesLosesItsOldest) {
  Ended ended;
  Door door(kPatient, std::ref(ended));
  for (int fd = 1; fd <= 3; ++fd) door.came(fd, peer(1));
  EXPECT_THAT(ended.all(), IsEmpty());
  door.came(4, peer(1));
  door.came(5, peer(1));
  EXPECT_THAT(ended.all(), ElementsAre(1, 2));
}

TEST(Door, TheOneWithMostPlacesMakesRoomForAnother) {
  Ended ended;
  Door door(kPatient, std::ref(ended));
  door.came(10, peer(2));
  for (int fd = 1; fd <= 3; ++fd) door.came(fd, peer(1));
  door.came(20, peer(3));
  EXPECT_THAT(ended.all(), ElementsAre(1));
  door.came(21, peer(3));
  EXPECT_THAT(ended.all(), ElementsAre(1, 2));
}

// Not the one with the lowest address, which may have just come.
TEST(Door, OfPeersWithAsManyPlacesTheOldestMakesRoom) {
  Ended ended;
  Door door(kPatient, std::ref(ended));
  for (const int last : {9, 1, 8, 2}) door.came(last, peer(static_cast<std::uint8_t>(last)));
  door.came(30, peer(3));
  door.came(40, peer(4));
  EXPECT_THAT(ended.all(), ElementsAre(9, 1));
}

TEST(Door, WhoHasMadeARequestStaysLonger) {
  Ended ended;
  Door door(kPatient, std::ref(ended));
  for (int fd = 1; fd <= 3; ++fd) door.came(fd, peer(1));
  door.requested(1);
  door.came(4, peer(1));
  EXPECT_THAT(ended.all(), ElementsAre(2));
  for (const int fd : {3, 4}) door.requested(fd);
  door.came(5, peer(1));
  EXPECT_THAT(ended.all(), ElementsAre(2, 1));
}

TEST(Door, PlacesOfThoseWhoLeaveAreFree) {
  Ended ended;
  Door door(kPatient, std::ref(ended));
  for (int fd = 1; fd <= 20; ++fd) {
    door.came(fd, peer(1));
    door.leaves(fd);
  }
  EXPECT_THAT(ended.all(), IsEmpty());
  // Also if it was ended before, whose number another socket has then.
  for (int fd = 1; fd <= 4; ++fd) door.came(fd, peer(1));
  door.leaves(1);
  door.came(1, peer(2));
  EXPECT_THAT(ended.all(), ElementsAre(1));
  door.came(6, peer(2));
  EXPECT_THAT(ended.all(), ElementsAre(1, 2));
}

TEST(Door, RequestAndAnswerHaveADeadline) {
  Ended ended;
  Door door({4, 4, std::chrono::milliseconds(1), std::chrono::milliseconds(1)}, std::ref(ended));
  door.came(1, peer(1));
  EXPECT_TRUE(ended.comes_to(1));
  door.leaves(1);
  Ended late;
  Door second({4, 4, std::chrono::hours(1), std::chrono::milliseconds(1)}, std::ref(late));
  second.came(1, peer(1));
  second.requested(1);
  second.came(2, peer(1));
  EXPECT_TRUE(late.comes_to(1));
  EXPECT_THAT(late.all(), ElementsAre(1));
}

PeerKey key_of(const char* text) {
  sockaddr_storage any{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&any);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&any);
  if (::inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
  }
  return peer_key(reinterpret_cast<const sockaddr&>(any));
}

TEST(Door, AnIpv6NetworkIsOnePeer) {
  EXPECT_EQ(key_of("2001:db8::1"), key_of("2001:db8::ffff:0:1"));
  EXPECT_NE(key_of("2001:db8:0:1::1"), key_of("2001:db8:0:2::1"));
  EXPECT_EQ(key_of("::ffff:192.0.2.1"), key_of("192.0.2.1"));
  EXPECT_NE(key_of("192.0.2.1"), key_of("192.0.2.2"));
}

}  // namespace
}  // namespace rpcrdma::metrics

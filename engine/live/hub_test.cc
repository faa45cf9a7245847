// The live socket: what readers receive, and that they cannot affect each other.
#include "support/live_hub.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;

class TraceHubThreads : public HubTest {};

TEST_F(TraceHubThreads, TheFirstEventSaysWhoEmits) {
  start_with_socket({.name = "a server", .role = "server on 10.0.0.1"});
  EventStream stream(connect_endpoint(hub_->socket_path()).value());
  const Emitted emitted = stream.next().value();
  const auto endpoint = emitted.as<Endpoint>();
  EXPECT_EQ(endpoint.format, kFormat);
  EXPECT_EQ(endpoint.process, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(endpoint.wall, emitted.wall);
  EXPECT_GT(endpoint.since, 0);
  EXPECT_LE(endpoint.since, endpoint.wall);
  EXPECT_EQ(emitted.payload().substr(0, endpoint.name_bytes), "a server");
  EXPECT_EQ(emitted.payload().substr(endpoint.name_bytes), "server on 10.0.0.1");
  EXPECT_EQ(hub_->socket_path(), path("rpcrdma/a_server." + std::to_string(::getpid()) + ".sock"));
}

TEST_F(TraceHubThreads, TheFirstEventSaysWhatTheSourceIs) {
  start_with_socket({.source = EventSource::kKernelBpf, .left_out = type_bit(EventType::kMessage)});
  EventStream stream(connect_endpoint(hub_->socket_path()).value());
  const auto endpoint = stream.next().value().as<Endpoint>();
  EXPECT_EQ(endpoint.source, EventSource::kKernelBpf);
  EXPECT_EQ(endpoint.left_out, type_bit(EventType::kMessage));
}

TEST_F(TraceHubThreads, ItsOwnerLearnsWhetherAnybodyReads) {
  std::vector<bool> said;
  std::atomic<int> count{0};
  Hub& hub = start_with_socket({.listening = [&](bool on) {
    said.push_back(on);
    ++count;
  }});
  { EventStream stream = connect(); }
  while (count < 2) std::this_thread::yield();
  hub.stop();
  EXPECT_EQ(said, (std::vector{true, false}));
}

TEST_F(TraceHubThreads, WhatTheTracerLostIsLostToItsReaders) {
  Tracer& tracer = *start_with_socket({.source = EventSource::kKernelBpf}).add();
  EventStream stream = connect();
  emit(tracer, 2);
  tracer.lose(40);
  emit(tracer, 1);
  stream.read_until(1, 43);
  EXPECT_EQ(stream.audit.ring(1).received, 3U);
  EXPECT_EQ(stream.audit.ring(1).lost, 40U);
}

TEST_F(TraceHubThreads, EventsComeAsTheyWereEmitted) {
  Tracer& tracer = *start_with_socket().add();
  EventStream stream = connect();
  ASSERT_TRUE(on(&tracer));
  const std::vector<std::uint8_t> payload{1, 2, 3, 4, 5};
  tracer.emit(tracer.new_connection(), 1234, Invalidate{77, 1, {}}, payload);
  const Emitted emitted = stream.next_event().value();
  EXPECT_EQ(emitted.header.ring, 1U);
  EXPECT_EQ(emitted.header.connection, 0x01000001U);
  EXPECT_EQ(emitted.header.time, 1234);
  EXPECT_EQ(emitted.as<Invalidate>().handle, 77U);
  EXPECT_EQ(emitted.payload(), "\1\2\3\4\5");
}

TEST_F(TraceHubThreads, SumsComeWithoutLossToo) {
  Tracer& tracer = *start_with_socket().add();
  EventStream stream = connect();
  emit(tracer, 3);
  stream.read_until(1, 3);
  EXPECT_EQ(stream.audit.ring(1).received, 3U);
  EXPECT_EQ(stream.audit.ring(1).lost, 0U);
}

TEST_F(TraceHubThreads, TracersListenWhileSomebodyReads) {
  Hub& hub = start_with_socket();
  Tracer& tracer = *hub.add();
  EXPECT_FALSE(on(&tracer));
  {
    EventStream stream = connect();
    EXPECT_TRUE(on(&tracer));
    EXPECT_TRUE(on(hub.add()));
  }
  while (on(&tracer)) std::this_thread::yield();
  EXPECT_FALSE(on(hub.add()));
  EventStream stream = connect();
  EXPECT_TRUE(on(&tracer));
  hub.stop();
  EXPECT_FALSE(on(&tracer));
}

TEST_F(TraceHubThreads, WhoComesLateLearnsWhatStands) {
  Hub& hub = start_with_socket();
  Tracer& one = *hub.add();
  Tracer& two = *hub.add();
  const std::uint32_t gone = one.new_connection();
  const std::uint32_t up = one.new_connection();
  const std::uint32_t other = two.new_connection();
  Connection connection;
  connection.port = 20049;
  one.emit(gone, 1, Connection{});
  one.emit(up, 2, connection, std::vector<std::uint8_t>{9});
  two.emit(other, 3, Connection{});
  one.emit(gone, 4, ConnectionEnd{});

  EventStream first = connect();
  const Emitted emitted = first.next().value();
  EXPECT_EQ(emitted.header.connection, up);
  EXPECT_EQ(emitted.header.time, 2);
  EXPECT_EQ(emitted.as<Connection>().port, 20049);
  EXPECT_EQ(emitted.as<Connection>().replayed, 1);
  EXPECT_EQ(emitted.payload(), "\x09");
  EXPECT_EQ(first.next().value().header.connection, other);

  Credits credits;
  for (const std::uint32_t granted : {1U, 32U, 64U}) {
    credits.granted = granted;
    one.emit(up, 5, credits);
  }
  two.emit(other, 6, ConnectionEnd{});
  EventStream second = connect();
  EXPECT_EQ(second.next().value().header.connection, up);
  EXPECT_EQ(second.next().value().as<Credits>().granted, 64U);
  one.emit(up, 7, Invalidate{});
  EXPECT_EQ(second.next().value().type(), EventType::kInvalidate);
  // Replayed events are counted as others are.
  second.read_until(1, 3);
  EXPECT_EQ(second.audit.ring(1).received, 3U);
  first.read_until(1, 5);
  EXPECT_EQ(first.audit.ring(1).received, 5U);
}

// The times of a capture must not step back. The header holds the time of the original event.
TEST_F(TraceHubThreads, WhatStandsHasTheTimeAtWhichItsReaderCame) {
  Tracer& tracer = *start_with_socket().add();
  const std::uint32_t connection = tracer.new_connection();
  tracer.emit(connection, 1, Connection{});
  EventStream first = connect();
  tracer.emit(connection, 2, Credits{});
  ASSERT_EQ(first.next().value().type(), EventType::kConnection);
  ASSERT_EQ(first.next().value().type(), EventType::kCredits);

  EventStream second(connect_endpoint(hub_->socket_path()).value());
  const Emitted endpoint = second.next().value();
  for (const std::int64_t time : {1, 2}) {
    const Emitted emitted = second.next().value();
    EXPECT_EQ(emitted.header.time, time);
    EXPECT_EQ(emitted.wall, endpoint.wall);
  }
}

TEST_F(TraceHubThreads, CreditsAreOutOfDateWhenNobodyHasRead) {
  Tracer& tracer = *start_with_socket().add();
  {
    EventStream stream = connect();
    tracer.emit(1, 1, Connection{});
    tracer.emit(1, 2, Credits{});
    EXPECT_EQ(stream.next().value().as<Connection>().replayed, 0);
    EXPECT_EQ(stream.next().value().type(), EventType::kCredits);
  }
  while (on(&tracer)) std::this_thread::yield();
  EventStream stream = connect();
  EXPECT_EQ(stream.next().value().as<Connection>().replayed, 1);
  tracer.emit(1, 3, Invalidate{});
  EXPECT_EQ(stream.next().value().type(), EventType::kInvalidate);
}

TEST_F(TraceHubThreads, WhoStopsReadingIsEmittedExactlyWhatWasLost) {
  constexpr std::uint64_t kEvents = 1'000'000;
  Tracer& tracer = *start_with_socket({.reader_bytes = 1 << 20}).add();
  EventStream stream = connect();
  emit(tracer, kEvents);
  stream.read_until(1, kEvents);
  const Audit::Sums& sums = stream.audit.ring(1);
  EXPECT_EQ(sums.emitted, kEvents);
  EXPECT_GT(sums.lost, kEvents / 2);
  EXPECT_GT(sums.received, 1000U);
  // No further loss once it keeps up again.
  const std::uint64_t lost = sums.lost;
  emit(tracer, 10);
  stream.read_until(1, kEvents + 10);
  EXPECT_EQ(sums.lost, lost);
}

// One reader reads each event before the next is emitted, the other reads nothing.
TEST_F(TraceHubThreads, ASlowReaderCostsAnotherNothing) {
  constexpr std::uint64_t kRounds = 400, kOfARound = 100;
  Hub& hub = start_with_socket({.reader_bytes = 256 << 10});
  Tracer& tracer = *hub.add();
  EventStream fast = connect();
  EventStream slow = connect();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    emit(tracer, kOfARound);
    for (std::uint64_t i = 0; i < kOfARound; ++i) {
      ASSERT_EQ(fast.next_event().value().as<Invalidate>().handle, i);
    }
  }
  fast.read_until(1, kRounds * kOfARound);
  EXPECT_EQ(fast.audit.ring(1).lost, 0U);
  EXPECT_EQ(fast.audit.ring(1).received, kRounds * kOfARound);
  slow.read_until(1, kRounds * kOfARound);
  EXPECT_GT(slow.audit.ring(1).lost, 0U);
  EXPECT_EQ(hub.lost_to_readers(), slow.audit.ring(1).lost);
}

// A reader that stands still holds its queue and nothing more, and what it loses is counted.
TEST_F(TraceHubThreads, OneThatStandsStillHoldsNoMoreThanItsQueue) {
  constexpr std::uint64_t kEvents = 1'000'000;
  constexpr std::size_t kQueue = std::size_t{256} << 10, kSocket = std::size_t{1} << 20;
  constexpr std::size_t kBlock = 88;
  Hub& hub = start_with_socket({.reader_bytes = kQueue});
  Tracer& tracer = *hub.add();
  EventStream still = connect();
  emit(tracer, kEvents);
  while (hub.lost_to_readers() + tracer.ring().lost() + (kQueue + kSocket) / kBlock < kEvents) {
    std::this_thread::yield();
  }
  still.read_until(1, kEvents);
  const Audit::Sums& sums = still.audit.ring(1);
  EXPECT_EQ(sums.emitted, kEvents);
  EXPECT_EQ(sums.received + sums.lost, kEvents);
  EXPECT_EQ(sums.lost, hub.lost_to_readers() + tracer.ring().lost());
}

TEST_F(TraceHubThreads, OneThatVanishesCostsAnotherNothing) {
  Tracer& tracer = *start_with_socket().add();
  EventStream stays = connect();
  for (int i = 0; i < 50; ++i) {
    // Half of them disconnect before they read anything, the others while they read.
    auto fd = connect_endpoint(hub_->socket_path());
    ASSERT_TRUE(fd);
    if (i % 2 == 0) EventStream(std::move(*fd)).next();
    emit(tracer, 100);
    for (int n = 0; n < 100; ++n) ASSERT_TRUE(stays.next_event());
  }
  stays.read_until(1, 5000);
  EXPECT_EQ(stays.audit.ring(1).received, 5000U);
  EXPECT_EQ(stays.audit.ring(1).lost, 0U);
}

TEST_F(TraceHubThreads, SeveralThreadsEmitSeveralReadersListen) {
  static constexpr std::uint32_t kThreads = 3;
  static constexpr std::uint64_t kEvents = 10'000;
  Hub& hub = start_with_socket();
  std::vector<Tracer*> tracers;
  for (std::uint32_t i = 0; i < kThreads; ++i) tracers.push_back(hub.add());
  EventStream a = connect();
  EventStream b = connect();
  ASSERT_TRUE(hub.record(path("all.pcapng")));
  std::vector<std::thread> threads;
  for (Tracer* const tracer : tracers) threads.emplace_back([tracer] { emit(*tracer, kEvents); });
  const auto read = [](EventStream& stream) {
    for (std::uint32_t ring = 1; ring <= kThreads; ++ring) stream.read_until(ring, kEvents);
    for (std::uint32_t ring = 1; ring <= kThreads; ++ring) {
      EXPECT_EQ(stream.audit.ring(ring).emitted, kEvents);
    }
  };
  threads.emplace_back([&] { read(a); });
  threads.emplace_back([&] { read(b); });
  for (std::thread& thread : threads) thread.join();
  hub.stop();
  EventStream recorded(path("all.pcapng"));
  read(recorded);
}

TEST_F(TraceHubThreads, AtTheEndAllIsEmittedAndTheSocketIsGone) {
  Hub& hub = start_with_socket();
  Tracer& tracer = *hub.add();
  EventStream stream = connect();
  const std::string socket = hub.socket_path();
  emit(tracer, 1000);
  hub.stop();
  (void)stream.rest();
  EXPECT_EQ(stream.audit.ring(1).emitted, 1000U);
  EXPECT_EQ(stream.audit.ring(1).lost, 0U);
  EXPECT_TRUE(stream.audit.is_complete());
  EXPECT_FALSE(stream.stats().cut_short);
  EXPECT_FALSE(std::filesystem::exists(socket));
  EXPECT_EQ(hub.socket_path(), "");
  hub.stop();
  EXPECT_THAT(hub.record(path("late")).error().message, HasSubstr("has stopped"));
  EXPECT_THAT(hub.open_socket().error().message, HasSubstr("has stopped"));
  emit(tracer, 1);
}

TEST_F(TraceHubThreads, OneThatDoesNotReadDoesNotKeepTheEndWaiting) {
  Hub& hub = start_with_socket();
  Tracer& tracer = *hub.add();
  const auto fd = connect_endpoint(hub.socket_path());
  while (!on(&tracer)) std::this_thread::yield();
  emit(tracer, 100'000);
  hub.stop();
}

TEST_F(TraceHubThreads, ReadersAreLimited) {
  start_with_socket();
  std::vector<EventStream> readers;
  for (int i = 0; i < 16; ++i) readers.push_back(connect());
  const auto fd = connect_endpoint(hub_->socket_path());
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message, HasSubstr("its maximum of 16 readers is attached"));
  readers.pop_back();
  // Once the hub has noticed the disconnect, another reader may connect.
  while (!connect_endpoint(hub_->socket_path())) std::this_thread::yield();
}

TEST_F(TraceHubThreads, WhatReadersSendIsNotRead) {
  Tracer& tracer = *start_with_socket().add();
  auto fd = connect_endpoint(hub_->socket_path());
  ASSERT_TRUE(fd);
  while (!on(&tracer)) std::this_thread::yield();
  EXPECT_EQ(::send(fd->get(), "x", 1, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPIPE);
  EventStream stream(std::move(*fd));
  emit(tracer, 1);
  EXPECT_TRUE(stream.next() && stream.next());
}

// The folder's mode excludes other users; without it the hub would.
TEST_F(TraceHubThreads, OtherUsersAreNotLetIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  start_with_socket();
  const std::string socket = hub_->socket_path();
  for (const std::string& folder : {folder_, path("rpcrdma")}) ::chmod(folder.c_str(), 0711);
  ::chmod(socket.c_str(), 0666);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const auto fd = connect_endpoint(socket);
    if (fd) ::_exit(3);
    ::_exit(fd.error().message.find("closed the connection") != std::string::npos ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TraceHubThreads, ThereIsAnEndOfTracers) {
  Hub& hub = start({.ring_bytes = 4096});
  for (std::size_t i = 0; i < Hub::kMostTracers; ++i) {
    Tracer* const tracer = hub.add();
    ASSERT_NE(tracer, nullptr);
    EXPECT_EQ(tracer->number(), i + 1);
  }
  EXPECT_FALSE(on(hub.add()));
}

TEST_F(TraceHubThreads, ASocketThatCannotBeMadeIsEmitted) {
  ASSERT_EQ(::mkdir(path("rpcrdma").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path("rpcrdma").c_str(), 0755), 0);
  Hub& hub = start();
  EXPECT_THAT(hub.open_socket().error().message, HasSubstr("mode 0755"));
  EXPECT_EQ(hub.socket_path(), "");
  ::chmod(path("rpcrdma").c_str(), 0700);
  EXPECT_TRUE(hub.open_socket());
  EXPECT_THAT(hub.open_socket().error().message, HasSubstr("another endpoint listens there"));
}

}  // namespace
}  // namespace rpcrdma::trace

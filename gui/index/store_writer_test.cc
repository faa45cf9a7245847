// Batches come into the store in order, in whichever thread they are written, and no failure is
// lost.
#include "store_writer.h"

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::index {
namespace {

// Of three Calls.
std::unique_ptr<Batch> fill(std::unique_ptr<Batch> batch, std::uint64_t first) {
  for (std::uint64_t i = first; i < first + 3; ++i) {
    MessageRow row;
    row.time_ns = static_cast<std::int64_t>(i);
    row.frame = i + 1;
    row.kind = model::Kind::kCall;
    batch->rows.push_back(row);
  }
  batch->patches.push_back({first + 1, 77, 0, 5, 1, 0, true, 0});
  batch->credits.push_back({0, 1, true, {static_cast<std::int64_t>(first), first + 1, 8, 8, 1}});
  batch->last_ns = static_cast<std::int64_t>(first);
  return batch;
}

void put_batches(StoreWriter& writer, std::uint64_t count) {
  auto batch = std::make_unique<Batch>();
  for (std::uint64_t i = 0; i < count; ++i) batch = writer.put(fill(std::move(batch), 3 * i));
  writer.wait();
}

void expect_batches(const Store& store, std::uint64_t count) {
  store.read([count](const Content& c) {
    ASSERT_EQ(c.rows.size(), 3 * count);
    for (std::uint64_t i = 0; i < 3 * count; ++i) {
      EXPECT_EQ(c.rows[i].frame, i + 1);
      EXPECT_EQ(c.rows[i].latency_ns, i % 3 == 0 ? 77 : -1);
    }
    ASSERT_EQ(c.credits.size(), 2u);
    EXPECT_EQ(c.credits[1]->size(), count);
    EXPECT_EQ(c.last_ns, static_cast<std::int64_t>(3 * count - 3));
  });
}

TEST(StoreWriter, WritesAtOnceWithoutAThread) {
  Store store;
  StoreWriter writer(store);
  put_batches(writer, 5);
  expect_batches(store, 5);
}

TEST(StoreWriter, WritesAsideInOrderAndReportsEachBatch) {
  Store store;
  std::atomic<std::uint64_t> written = 0;
  StoreWriter writer(store);
  writer.start([&] { ++written; });
  put_batches(writer, 100);
  expect_batches(store, 100);
  EXPECT_EQ(written, 100u);
}

TEST(StoreWriter, WritesWhatWaitsBeforeItEnds) {
  Store store;
  {
    StoreWriter writer(store);
    writer.start([] {});
    auto batch = writer.put(fill(std::make_unique<Batch>(), 0));
    batch = writer.put(fill(std::move(batch), 3));
  }
  expect_batches(store, 2);
}

TEST(StoreWriter, PassesAFailureOn) {
  Store store;
  StoreWriter writer(store);
  writer.start([] { throw std::bad_alloc(); });
  auto batch = writer.put(fill(std::make_unique<Batch>(), 0));
  EXPECT_THROW(writer.wait(), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(writer.put(std::move(batch))), std::bad_alloc);
}

// At each moment one of the readers reads.
TEST(Store, ReadersDoNotKeepTheWriterOut) {
  Store store;
  std::atomic<bool> written{false};
  std::atomic<int> reading{0};
  std::vector<std::thread> readers;
  for (int n = 0; n < 3; ++n) {
    readers.emplace_back([&] {
      while (!written) {
        store.read([&](const Content&) {
          ++reading;
          for (int i = 0; i < 1000; ++i) std::this_thread::yield();
          --reading;
        });
      }
    });
  }
  while (reading == 0) std::this_thread::yield();
  store.write([&](Content& to) {
    EXPECT_EQ(reading, 0);
    to.progress.finished = true;
  });
  written = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(store.read([](const Content& c) { return c.progress.finished; }));
}

}  // namespace
}  // namespace rpcrdma::index

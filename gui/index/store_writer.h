// Writes batches to a store: in the caller's thread, or in one of its own while the caller analyzes
// what follows.
#pragma once

#include "batch.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace rpcrdma::index {

class StoreWriter {
 public:
  // `store` must outlive this.
  explicit StoreWriter(Store& store) : store_(store) {}
  // Writes what was put.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  // From now on batches are written by a thread, which then calls `written`. If the system has none
  // left, put() writes and calls it.
  void start(std::function<void()> written);
  // Returns an empty batch. Waits while kMostWaiting batches wait. Throws what the thread threw.
  [[nodiscard]] std::unique_ptr<Batch> put(std::unique_ptr<Batch> batch);
  // Waits until all are written. Throws what the thread threw.
  void wait();

 private:
  static constexpr std::size_t kMostWaiting = 2;

  void run();
  void write(const Batch& batch);

  // Steps of write().
  static void put_rows(Content& to, const Batch& from);
  static void put_detail(Content& to, const Batch::Detail& d);
  static void put_connections(Content& to, const Batch& from);
  static void join(Content& to, std::uint32_t from, std::uint32_t into);
  static void put_credits(Content& to, const Batch& from);
  [[nodiscard]] const std::string& kind_key(const Batch::Violation& b);
  void sum_up(Content& to, const Batch::Violation& b);
  void put_findings(Content& to, const Batch& from);
  void put_times(Content& to, const Batch& from);
  [[nodiscard]] ProcedureTimes& times_of(Content& to, const report::ProcedureKey& key,
                                         std::uint32_t procedure);
  static void put_congestion(Content& to, const Batch& from);
  static void put_activity(Content& to, const Batch& from);
  static void put_states(Content& to, const Batch& from);
  static void put_totals(Content& to, const Batch& from);
  static void put_conclusions(Content& to, const report::Report& report);

  Store& store_;
  std::unordered_map<std::string, std::uint32_t> kinds_;  // place in Content::kinds
  std::string draft_;
  // A cache in front of Content::times, which each Call looks up.
  struct RecentTimes {
    report::ProcedureKey key;
    ProcedureTimes* times = nullptr;
  };
  static constexpr std::size_t kRecentTimes = 64;
  std::array<RecentTimes, kRecentTimes> recent_times_{};

  std::function<void()> written_;
  std::thread thread_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> waiting_;  // the first one is being written
  std::vector<std::unique_ptr<Batch>> spare_;
  std::exception_ptr failure_;
  bool ending_ = false;
};

}  // namespace rpcrdma::index

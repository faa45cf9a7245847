// For tests: a capture in a store, read to its end.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/index/loading.h>
#include <rpcrdma/index/search.h>

namespace rpcrdma::index::testing {

// Paths of all capture files in this repository.
inline std::vector<std::string> captures() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RPCRDMA_TEST_CAPTURES)) {
    const std::string ext = entry.path().extension();
    if (ext == ".pcap" || ext == ".pcapng") all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

inline std::string capture(const std::string& name) {
  return std::string(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

// Waits for changes that a Loading reports.
class Watch {
 public:
  explicit Watch(Store& store) : store_(store) {}
  [[nodiscard]] Loading::Changed changed() {
    return [this] {
      const std::scoped_lock lock(mutex_);
      ++changes_;
      woken_.notify_all();
    };
  }
  // Waits until `done(content)`, half a minute at most.
  template <typename Done>
  [[nodiscard]] bool until(Done done) {
    std::unique_lock lock(mutex_);
    return woken_.wait_for(lock, std::chrono::seconds(30), [&] { return store_.read(done); });
  }
  [[nodiscard]] bool until_finished() {
    return until([](const Content& c) { return c.progress.finished; });
  }

 private:
  Store& store_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::uint64_t changes_ = 0;
};

struct Loaded {
  Store store;
  Watch watch{store};
  std::unique_ptr<Loading> loading;

  explicit Loaded(const std::vector<std::string>& paths, LoadOptions options = {}) {
    options.folder = ::testing::TempDir();
    auto made = Loading::files(store, paths, options, watch.changed());
    if (!made) {
      ADD_FAILURE() << made.error().message;
      return;
    }
    loading = std::move(*made);
    EXPECT_TRUE(watch.until_finished());
  }
  explicit Loaded(const std::string& path) : Loaded(std::vector<std::string>{path}) {}
};

inline std::vector<std::uint64_t> search(const Loaded& loaded, const std::string& text) {
  auto filter = filter::compile(text);
  if (!filter) {
    ADD_FAILURE() << text << ": " << filter.error().message;
    return {};
  }
  Search search(loaded.store, loaded.loading->frames(), std::move(*filter));
  std::vector<std::uint64_t> all;
  for (;;) {
    const Search::Found found = search.step();
    EXPECT_EQ(found.error, "");
    all.insert(all.end(), found.messages.begin(), found.messages.end());
    if (found.idle) break;
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace rpcrdma::index::testing

// Checks user names and passwords against bcrypt hashes. A hash is meant to take long, so one
// thread computes all of them, one after the other and with a low priority: guesses cost a share
// of one processor and delay no scrape whose password was accepted before.
#pragma once

#include "door.h"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace rpcrdma::metrics {

enum class Verdict : std::uint8_t {
  kRight,
  kWrong,
  kUnknown,  // not checked: it ends
};

class Passwords {
 public:
  // `users`: names with valid bcrypt hashes.
  explicit Passwords(std::map<std::string, std::string> users);
  ~Passwords();
  Passwords(const Passwords&) = delete;
  Passwords& operator=(const Passwords&) = delete;

  using Done = std::function<void(Verdict)>;

  // Returns the verdict if it needs no hash. For any thread, as the others.
  [[nodiscard]] std::optional<Verdict> known(const std::string& user, const std::string& password);
  // Checks it; the thread calls `done`, which must not throw. Returns false, and calls nothing, if
  // too many are being checked already.
  [[nodiscard]] bool ask(const std::string& user, const std::string& password, const PeerKey& peer,
                         Done done);
  // Calls each `done` that still waits, and none after that.
  void stop();

 private:
  using Digest = std::array<std::uint8_t, 32>;

  struct Question {
    std::string user;
    std::string password;
    Digest digest{};
    Done done;
  };

  [[nodiscard]] Digest digest_of(const std::string& user, const std::string& password) const;
  [[nodiscard]] bool is_right(const Question& question) const;
  [[nodiscard]] Verdict verdict_of(const Question& question) noexcept;
  void remember(const Question& question, bool right);
  void work();

  const std::map<std::string, std::string> users_;
  std::string hash_of_nobody_;  // for users that do not exist: takes as long as a real one
  Digest key_{};                // of digests, so that no password stays in memory

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Digest> right_;  // of each user the last one
  std::deque<Digest> wrong_;             // the latest
  std::map<PeerKey, std::deque<Question>> waiting_;
  PeerKey last_peer_{};  // peers take turns
  std::size_t all_waiting_ = 0;
  bool stops_ = false;
  std::thread worker_;
};

}  // namespace rpcrdma::metrics

#include "passwords.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::size_t kMostWaitingOfAPeer = 2;
constexpr std::size_t kMostWaiting = 32;
constexpr std::size_t kMostWrong = 256;
// bcrypt uses 72 bytes of a password.
constexpr std::size_t kLongestPassword = 256;
// For nice(2): a third of the weight of others. With much less, a busy machine would take seconds
// for the first scrape.
constexpr int kLowPriority = 5;

bool same(const void* a, const void* b, std::size_t bytes) {
  return ::gnutls_memcmp(a, b, bytes) == 0;
}

}  // namespace

Passwords::Passwords(std::map<std::string, std::string> users) : users_(std::move(users)) {
  // The highest cost of all, with salt and hash of no password.
  for (const auto& [name, hash] : users_) {
    hash_of_nobody_ = std::max(hash_of_nobody_, "$2b$" + hash.substr(4, 3));
  }
  hash_of_nobody_ += std::string(53, '.');
  ::gnutls_rnd(GNUTLS_RND_KEY, key_.data(), key_.size());
  worker_ = std::thread([this] { work(); });
}

Passwords::~Passwords() {
  stop();
}

void Passwords::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (!worker_.joinable()) return;
  worker_.join();
  for (const auto& [peer, questions] : waiting_) {
    for (const Question& q : questions) q.done(Verdict::kUnknown);
  }
  waiting_.clear();
}

std::optional<Verdict> Passwords::known(const std::string& user, const std::string& password) {
  // crypt_r() would end at a zero byte.
  if (password.size() > kLongestPassword || password.find('\0') != std::string::npos) {
    return Verdict::kWrong;
  }
  const Digest digest = digest_of(user, password);
  const std::scoped_lock lock(mutex_);
  const auto right = right_.find(user);
  if (right != right_.end() && same(right->second.data(), digest.data(), digest.size())) {
    return Verdict::kRight;
  }
  for (const Digest& w : wrong_) {
    if (same(w.data(), digest.data(), digest.size())) return Verdict::kWrong;
  }
  return std::nullopt;
}

bool Passwords::ask(const std::string& user, const std::string& password, const PeerKey& peer,
                    Done done) {
  const Digest digest = digest_of(user, password);
  const std::scoped_lock lock(mutex_);
  if (stops_ || all_waiting_ >= kMostWaiting) return false;
  const auto of_peer = waiting_.find(peer);
  if (of_peer != waiting_.end() && of_peer->second.size() >= kMostWaitingOfAPeer) return false;
  waiting_[peer].push_back({user, password, digest, std::move(done)});
  ++all_waiting_;
  changed_.notify_all();
  return true;
}

Passwords::Digest Passwords::digest_of(const std::string& user, const std::string& password) const {
  // A name that a client sent contains no zero byte.
  std::string both = user;
  both += '\0';
  both += password;
  Digest digest{};
  ::gnutls_hmac_fast(GNUTLS_MAC_SHA256, key_.data(), key_.size(), both.data(), both.size(),
                     digest.data());
  return digest;
}

bool Passwords::is_right(const Question& question) const {
  const auto known = users_.find(question.user);
  const std::string& hash = known == users_.end() ? hash_of_nobody_ : known->second;
  const auto data = std::make_unique<crypt_data>();
  const char* const result = ::crypt_r(question.password.c_str(), hash.c_str(), data.get());
  const std::string computed = result != nullptr ? result : "";
  return known != users_.end() && computed.size() == hash.size() &&
         same(computed.data(), hash.data(), hash.size());
}

Verdict Passwords::verdict_of(const Question& question) noexcept {
  try {
    const bool right = is_right(question);
    remember(question, right);
    return right ? Verdict::kRight : Verdict::kWrong;
  } catch (const std::exception&) {
    return Verdict::kUnknown;
  }
}

void Passwords::remember(const Question& question, bool right) {
  const std::scoped_lock lock(mutex_);
  if (right) {
    right_[question.user] = question.digest;
    return;
  }
  wrong_.push_back(question.digest);
  if (wrong_.size() > kMostWrong) wrong_.pop_front();
}

void Passwords::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLowPriority);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stops_ || all_waiting_ != 0; });
    if (stops_) return;
    auto at = waiting_.upper_bound(last_peer_);
    if (at == waiting_.end()) at = waiting_.begin();
    last_peer_ = at->first;
    const Question question = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) waiting_.erase(at);
    --all_waiting_;
    lock.unlock();
    const Verdict verdict = verdict_of(question);
    question.done(verdict);
    lock.lock();
  }
}

}  // namespace rpcrdma::metrics

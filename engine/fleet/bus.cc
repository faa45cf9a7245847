// Two threads publish what waits: states, which must not wait for anything, and findings, each of
// which waits for the stream's acknowledgment.
#include "message_queue.h"
#include "nats_options.h"
#include "nats_text.h"
#include "streams.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <nats/nats.h>

#include <rpcrdma/base/thread.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::fleet {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{250};

struct WaitingFinding {
  std::string subject, id, json;
};

struct ConnectionDeleter {
  void operator()(natsConnection* c) const { natsConnection_Destroy(c); }
};
struct JetStreamDeleter {
  void operator()(jsCtx* js) const { jsCtx_Destroy(js); }
};

}  // namespace

struct Bus::Impl {
  BusOptions options;
  NkeySeed seed;
  std::shared_ptr<EndedSubscriptions> ended = std::make_shared<EndedSubscriptions>();
  std::unique_ptr<natsConnection, ConnectionDeleter> connection;
  std::unique_ptr<jsCtx, JetStreamDeleter> js;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool connected = false;
  bool closed = false;
  bool stopping = false;
  bool prepared = false;       // prepare_streams() has succeeded
  bool check_streams = false;  // the bus may have lost them
  std::string why;
  std::string server;
  std::map<std::string, std::string, std::less<>> states;  // by subject
  bool sending_state = false;
  std::deque<WaitingFinding> findings;
  BusCounters counters;
  std::thread state_thread, finding_thread;

  void publish_states();
  void publish_findings();
  // No exception may leave a thread: one that had no memory begins again soon.
  template <typename Publish>
  void keep_on(Publish publish) noexcept {
    for (;;) {
      try {
        return publish();
      } catch (const std::bad_alloc&) {
        std::unique_lock lock(mutex);
        sending_state = false;
        if (changed.wait_for(lock, kRetry, [&] { return stopping; })) return;
      }
    }
  }
  // Returns false if the finding stays.
  bool publish(const WaitingFinding& finding, std::unique_lock<std::mutex>& lock);
  void note_server();

  static void on_disconnect(natsConnection* connection, void* closure);
  static void on_reconnect(natsConnection* connection, void* closure);
  static void on_close(natsConnection* connection, void* closure);
  static void on_error(natsConnection* connection, natsSubscription* subscription, natsStatus error,
                       void* closure);
};

namespace {

std::string last_error(natsConnection* connection) {
  const char* text = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection, &text);
  if (status == NATS_OK) return "the server closed the connection";
  return text != nullptr && *text != '\0' ? text : status_text(status);
}

}  // namespace

void Bus::Impl::note_server() {
  std::string url(512, '\0');
  if (natsConnection_GetConnectedUrl(connection.get(), url.data(), url.size()) == NATS_OK) {
    server = public_urls(url.c_str());
  }
}

void Bus::Impl::on_disconnect(natsConnection* connection, void* closure) {
  Impl& i = *static_cast<Impl*>(closure);
  const std::lock_guard lock(i.mutex);
  i.connected = false;
  i.why = last_error(connection);
  i.changed.notify_all();
}

void Bus::Impl::on_reconnect(natsConnection* /*connection*/, void* closure) {
  Impl& i = *static_cast<Impl*>(closure);
  const std::lock_guard lock(i.mutex);
  i.connected = true;
  i.check_streams = i.prepared;
  ++i.counters.reconnects;
  i.note_server();
  i.changed.notify_all();
}

void Bus::Impl::on_close(natsConnection* connection, void* closure) {
  Impl& i = *static_cast<Impl*>(closure);
  const std::lock_guard lock(i.mutex);
  i.connected = false;
  i.closed = true;
  if (!i.stopping) i.why = last_error(connection);
  i.changed.notify_all();
}

void Bus::Impl::on_error(natsConnection* connection, natsSubscription* /*subscription*/,
                         natsStatus error, void* closure) {
  Impl& i = *static_cast<Impl*>(closure);
  const char* text = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection, &text);
  const std::lock_guard lock(i.mutex);
  ++i.counters.errors;
  i.why = status == error && text != nullptr && *text != '\0' ? text : status_text(error);
}

void Bus::Impl::publish_states() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || (connected && !states.empty()); });
    if (stopping) return;
    auto state = states.extract(states.begin());
    sending_state = true;
    lock.unlock();
    const std::string& json = state.mapped();
    const natsStatus status = natsConnection_Publish(connection.get(), state.key().c_str(),
                                                     json.data(), static_cast<int>(json.size()));
    lock.lock();
    sending_state = false;
    if (status == NATS_OK) {
      ++counters.published;
      counters.published_bytes += json.size();
    } else if (status == NATS_MAX_PAYLOAD) {
      ++counters.states_dropped;
      why = fmt::format("a state of {} bytes is longer than the bus accepts", json.size());
    } else {
      // A newer one may wait already.
      if (!states.insert(std::move(state)).inserted) ++counters.states_dropped;
      changed.wait_for(lock, kRetry, [&] { return stopping; });
    }
    changed.notify_all();
  }
}

bool Bus::Impl::publish(const WaitingFinding& finding, std::unique_lock<std::mutex>& lock) {
  const WaitingFinding one = finding;
  lock.unlock();
  jsPubOptions publishing;
  jsPubOptions_Init(&publishing);
  publishing.MsgId = one.id.c_str();
  publishing.MaxWait = options.timeout.count();
  jsErrCode code{};
  const natsStatus status = js_Publish(nullptr, js.get(), one.subject.c_str(), one.json.data(),
                                       static_cast<int>(one.json.size()), &publishing, &code);
  lock.lock();
  if (status == NATS_OK) {
    ++counters.published;
    counters.published_bytes += one.json.size();
    return true;
  }
  // Nothing answers if the stream is gone. If the stream itself refuses the finding, it would do
  // so again.
  if (status == NATS_NO_RESPONDERS) check_streams = prepared;
  const bool refused = status == NATS_MAX_PAYLOAD || code != 0;
  if (refused) {
    ++counters.findings_dropped;
    why = fmt::format("the stream {} did not accept a finding: {}", kFindingsStream,
                      status_text(status));
  }
  return refused;
}

void Bus::Impl::publish_findings() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock,
                 [&] { return stopping || (connected && (check_streams || !findings.empty())); });
    if (stopping) return;
    if (std::exchange(check_streams, false)) {
      lock.unlock();
      const auto made = make_streams(js.get());
      lock.lock();
      if (!made) {
        why = made.error().message;
        check_streams = true;
        changed.wait_for(lock, kRetry, [&] { return stopping; });
        continue;
      }
    }
    if (findings.empty()) continue;
    if (publish(findings.front(), lock)) {
      findings.pop_front();
      changed.notify_all();
    } else {
      changed.wait_for(lock, kRetry, [&] { return stopping; });
    }
  }
}

bool Bus::available() {
  return true;
}

Bus::Bus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

base::Expected<std::unique_ptr<Bus>> Bus::connect(const BusOptions& options) {
  auto impl = std::make_unique<Impl>();
  Impl& i = *impl;
  i.options = options;
  const auto nats = nats_options(options, i.seed);
  if (!nats) return tl::unexpected(nats.error());
  natsOptions_SetDisconnectedCB(nats->get(), Impl::on_disconnect, &i);
  natsOptions_SetReconnectedCB(nats->get(), Impl::on_reconnect, &i);
  natsOptions_SetClosedCB(nats->get(), Impl::on_close, &i);
  natsOptions_SetErrorHandler(nats->get(), Impl::on_error, &i);
  natsConnection* connection = nullptr;
  natsStatus status = natsConnection_Connect(&connection, nats->get());
  if (status != NATS_OK) {
    return base::fail(fmt::format("bus {}: {}", public_urls(options.url), status_text(status)));
  }
  jsOptions js;
  jsOptions_Init(&js);
  js.Wait = options.timeout.count();
  jsCtx* context = nullptr;
  {
    const std::lock_guard lock(i.mutex);
    i.connection.reset(connection);
    i.connected = !i.closed;
    i.note_server();
  }
  // From here on the destructor ends the connection.
  auto bus = std::unique_ptr<Bus>(new Bus(std::move(impl)));
  status = natsConnection_JetStream(&context, connection, &js);
  if (status != NATS_OK) return base::fail(status_text(status));
  i.js.reset(context);
  auto states = base::start_thread([&i] { i.keep_on([&i] { i.publish_states(); }); });
  if (!states) return tl::unexpected(states.error());
  i.state_thread = std::move(*states);
  auto findings = base::start_thread([&i] { i.keep_on([&i] { i.publish_findings(); }); });
  if (!findings) return tl::unexpected(findings.error());
  i.finding_thread = std::move(*findings);
  return bus;
}

Bus::~Bus() {
  Impl& i = *impl_;
  {
    const std::lock_guard lock(i.mutex);
    i.stopping = true;
    i.changed.notify_all();
  }
  if (i.state_thread.joinable()) i.state_thread.join();
  if (i.finding_thread.joinable()) i.finding_thread.join();
  natsConnection_Close(i.connection.get());
  // The library calls on_close() last.
  std::unique_lock lock(i.mutex);
  i.changed.wait(lock, [&] { return i.closed; });
}

base::Expected<void> Bus::prepare_streams() {
  Impl& i = *impl_;
  if (const auto made = make_streams(i.js.get()); !made) {
    return base::fail(fmt::format("bus {}: {}", public_urls(i.options.url), made.error().message));
  }
  const std::lock_guard lock(i.mutex);
  i.prepared = true;
  return {};
}

void Bus::publish_state(std::string_view host, std::string json) {
  Impl& i = *impl_;
  std::string subject = state_subject(host);
  const std::lock_guard lock(i.mutex);
  const auto at = i.states.find(subject);
  if (at != i.states.end()) {
    at->second = std::move(json);
    ++i.counters.states_dropped;
  } else if (i.states.size() >= i.options.most_states) {
    ++i.counters.states_dropped;
  } else {
    i.states.emplace(std::move(subject), std::move(json));
  }
  i.changed.notify_all();
}

void Bus::publish_finding(std::string_view host, std::string id, std::string json) {
  Impl& i = *impl_;
  const std::lock_guard lock(i.mutex);
  // The latest counts make the earliest notes superfluous, but the first of a kind has its text:
  // what waits stays.
  if (i.findings.size() >= i.options.most_findings) {
    ++i.counters.findings_dropped;
    return;
  }
  i.findings.push_back({findings_subject(host), std::move(id), std::move(json)});
  i.changed.notify_all();
}

bool Bus::flush(milliseconds patience) {
  Impl& i = *impl_;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  {
    std::unique_lock lock(i.mutex);
    const bool sent = i.changed.wait_until(lock, deadline, [&] {
      return i.closed || (i.states.empty() && !i.sending_state && i.findings.empty());
    });
    if (!sent || i.closed) return false;
  }
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return natsConnection_FlushTimeout(i.connection.get(), std::max<std::int64_t>(left.count(), 1)) ==
         NATS_OK;
}

base::Expected<void> Bus::send(const std::string& subject, std::string_view data) {
  natsStatus status = NATS_CONNECTION_DISCONNECTED;
  if (state().connected) {
    status = natsConnection_Publish(impl_->connection.get(), subject.c_str(), data.data(),
                                    static_cast<int>(data.size()));
  }
  if (status != NATS_OK) return base::fail(status_text(status));
  return {};
}

base::Expected<std::string> Bus::request(const std::string& subject, std::string_view data,
                                         milliseconds patience) {
  natsMsg* raw = nullptr;
  const natsStatus status =
      natsConnection_Request(&raw, impl_->connection.get(), subject.c_str(), data.data(),
                             static_cast<int>(data.size()), patience.count());
  if (status != NATS_OK) return base::fail(status_text(status));
  std::string answer(natsMsg_GetData(raw), static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  natsMsg_Destroy(raw);
  return answer;
}

base::Expected<std::unique_ptr<Subscription>> Bus::subscribe(const std::string& subject,
                                                             QueueLimits limits,
                                                             std::size_t most_bytes) {
  return subscribe_to(impl_->connection.get(), subject, limits, most_bytes, impl_->ended);
}

base::Expected<void> Bus::latest_states(const Take& take) {
  return replay(impl_->js.get(), {kStateStream, kAllStates, true, 0}, impl_->options.timeout,
                {impl_->connection.get(), impl_->ended}, take);
}

base::Expected<void> Bus::findings_since(std::int64_t since_ns, const std::string& host,
                                         const Take& take) {
  const std::string subject = host.empty() ? kAllFindings : findings_subject(host);
  return replay(impl_->js.get(), {kFindingsStream, subject, false, since_ns},
                impl_->options.timeout, {impl_->connection.get(), impl_->ended}, take);
}

BusState Bus::state() const {
  const std::lock_guard lock(impl_->mutex);
  return {impl_->connected, impl_->closed, impl_->why, impl_->server};
}

BusCounters Bus::counters() const {
  const std::lock_guard lock(impl_->mutex);
  BusCounters counters = impl_->counters;
  counters.findings_waiting = impl_->findings.size();
  return counters;
}

}  // namespace rpcrdma::fleet

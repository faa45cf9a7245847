// A fleet's bus: NATS with JetStream. A Bus is one connection. It reconnects by itself; what is to
// be published meanwhile waits in bounded memory, and what does not fit is counted.
//
// All members are thread-safe. No member but connect(), prepare_streams(), request(), send(),
// latest_states(), findings_since() and flush() waits for the network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rpcrdma/base/error.h>

namespace rpcrdma::fleet {

struct BusOptions {
  std::string url;   // nats://host:4222, tls://host:4222; several: separated by commas
  std::string name;  // of this client, which the bus shows to its operator
  // TLS: used if the URL says tls://, if any of these is given, or if the bus requires it.
  std::string tls_ca;             // PEM file; empty: the system's CAs
  std::string tls_cert, tls_key;  // PEM files of this client; both or none
  std::string user, password;
  std::string nkey_file;                    // holds the seed of an nkey (SU...)
  std::string credentials_file;             // of a JWT (.creds)
  std::chrono::milliseconds timeout{3000};  // of connecting, and of requests to JetStream
  std::size_t most_states = 4096;           // hosts whose newest state waits for the bus
  std::size_t most_findings = 4096;         // findings that wait for the bus
};

struct BusCounters {
  std::uint64_t reconnects = 0;
  std::uint64_t published = 0, published_bytes = 0;  // states and findings
  std::uint64_t states_dropped = 0;    // replaced by newer ones before they could be published
  std::uint64_t findings_dropped = 0;  // did not fit, or were not accepted by the bus
  std::uint64_t findings_waiting = 0;  // now
  std::uint64_t errors = 0;            // that the bus reported, such as a missing permission
};

struct BusState {
  bool connected = false;
  // The connection has ended for good: the bus refuses this user, for example.
  bool closed = false;
  std::string why;     // of the latest disconnection or error, one clause; empty: none
  std::string server;  // that it is connected to
};

struct BusMessage {
  std::string subject;
  std::string data;
  std::string reply;           // subject for the answer; empty: none is expected
  std::int64_t stored_ns = 0;  // when the stream stored it, since the epoch; 0: not of a stream
};

// A queue of the messages of one subject, filled by a thread of the connection. It ends with its
// destruction, at the latest before that of the Bus.
class Subscription {
 public:
  virtual ~Subscription() = default;
  // The oldest message, or nothing.
  [[nodiscard]] virtual std::optional<BusMessage> take() = 0;
  // Readable while there may be messages; take() until there is none.
  [[nodiscard]] virtual int fd() const = 0;
  // Messages that did not fit. The oldest stay.
  [[nodiscard]] virtual std::uint64_t dropped() const = 0;
};

struct QueueLimits {
  std::size_t messages = 16'384;
  std::size_t bytes = std::size_t{64} << 20;
};

class Bus {
 public:
  // Whether this build has the bus: it needs libnats.
  [[nodiscard]] static bool available();

  // Errors, one line each: this build has no bus; a file cannot be read; the bus cannot be reached;
  // it does not accept the user, or its certificate is not valid.
  [[nodiscard]] static base::Expected<std::unique_ptr<Bus>> connect(const BusOptions& options);
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // Creates the two streams, or checks those that exist; from then on also after each reconnect.
  // Errors: no JetStream; a stream has other settings; no permission.
  [[nodiscard]] base::Expected<void> prepare_streams();

  // Publishes a host's state as soon as possible; replaces one that still waits.
  void publish_state(std::string_view host, std::string json);
  // Publishes a finding until the stream has acknowledged it. `id`: unique for each finding, so
  // that none is stored twice.
  void publish_finding(std::string_view host, std::string id, std::string json);
  // Waits until nothing waits. Returns false if it takes longer.
  [[nodiscard]] bool flush(std::chrono::milliseconds patience);

  // Sends a message now. Errors: the bus is disconnected; the message is too long.
  [[nodiscard]] base::Expected<void> send(const std::string& subject, std::string_view data);
  // Sends a request and waits for the answer. Errors: nobody listens on the subject; no answer
  // within `patience`; as send().
  [[nodiscard]] base::Expected<std::string> request(const std::string& subject,
                                                    std::string_view data,
                                                    std::chrono::milliseconds patience);

  // Delivers messages from now on, also after a reconnect. A message longer than `most_bytes` is
  // dropped and counted.
  [[nodiscard]] base::Expected<std::unique_ptr<Subscription>> subscribe(
      const std::string& subject, QueueLimits limits = {},
      std::size_t most_bytes = std::size_t{1} << 20);

  // Delivers what the streams hold now, the oldest first, until `take` returns false.
  using Take = std::function<bool(const BusMessage&)>;
  // The latest state of each host.
  [[nodiscard]] base::Expected<void> latest_states(const Take& take);
  // Findings stored since `since_ns` (since the epoch); `host` empty: of all hosts.
  [[nodiscard]] base::Expected<void> findings_since(std::int64_t since_ns, const std::string& host,
                                                    const Take& take);

  [[nodiscard]] BusState state() const;
  [[nodiscard]] BusCounters counters() const;

 private:
  struct Impl;
  explicit Bus(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::fleet

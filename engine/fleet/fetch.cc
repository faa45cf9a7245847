#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <poll.h>
#include <sys/types.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/fleet/fetch.h>
#include <rpcrdma/fleet/random_id.h>
#include <rpcrdma/fleet/record.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::fleet {

namespace {

constexpr std::chrono::milliseconds kAnswerPatience{5000};
constexpr int kFetchPollMs = 100;
// The window, twice, with progress in between.
constexpr QueueLimits kMessageQueue{256, std::size_t{4} << 20};
constexpr mode_t kMode = 0600;  // it may contain the data of users

// A part of a file's name: nothing from outside chooses a folder.
std::string plain(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
    name += good ? c : '_';
  }
  return name;
}

class Fetch {
 public:
  Fetch(Bus& bus, const FetchOptions& options)
      : bus_(bus), options_(options), id_(random_id()), control_(control_subject(options.host)) {}

  base::Expected<Fetched> run() {
    auto messages = bus_.subscribe(record_subject(options_.host, id_), kMessageQueue);
    if (!messages) return tl::unexpected(messages.error());
    if (const auto asked = ask(); !asked) return tl::unexpected(asked.error());
    if (fetched_.file.empty()) {
      fetched_.file = fmt::format("{}-{}.pcapng", plain(options_.host), plain(fetched_.endpoint));
    }
    auto result = receive(**messages);
    if (!result) (void)bus_.send(control_, to_json(RecordStop{id_}));
    return result;
  }

 private:
  base::Expected<void> ask() {
    fetched_.file = options_.file;
    const RecordRequest request{id_, options_.endpoint, options_.duration_ns, options_.most_bytes};
    const auto reply = bus_.request(control_, to_json(Request(request)), kAnswerPatience);
    if (!reply) {
      return base::fail(fmt::format("{}: no agent of this host is connected to the bus ({})",
                                    options_.host, reply.error().message));
    }
    const auto answer = answer_from_json(*reply);
    if (!answer) {
      return base::fail(fmt::format("{}: its agent's answer is not valid: {}", options_.host,
                                    answer.error().message));
    }
    if (!answer->refused.empty()) {
      return base::fail(fmt::format("{}: {}", options_.host, answer->refused));
    }
    fetched_.endpoint = answer->endpoint;
    if (options_.begun) options_.begun(answer->endpoint);
    return {};
  }

  base::Expected<Fetched> receive(Subscription& messages) {
    auto file = base::WholeFile::create(
        fetched_.file, {.existing = base::Existing::kReplaceName, .mode = kMode, .to_disk = true});
    if (!file) return tl::unexpected(file.error());
    std::int64_t heard = base::monotonic_ns();
    for (;;) {
      if (options_.interrupted && options_.interrupted()) return base::fail("interrupted");
      const auto message = messages.take();
      if (!message) {
        if (messages.dropped() != 0) return failed("sent more than was acknowledged");
        if (base::monotonic_ns() - heard >= kRecordPatienceNs) {
          return failed("its agent has fallen silent");
        }
        pollfd wait{messages.fd(), POLLIN, 0};
        ::poll(&wait, 1, kFetchPollMs);
        continue;
      }
      heard = base::monotonic_ns();
      const auto part = record_message(message->data);
      if (!part) return failed(part.error().message);
      if (const auto* const chunk = std::get_if<RecordChunk>(&*part)) {
        if (const auto taken = take(*chunk, *file); !taken) return tl::unexpected(taken.error());
      } else if (const auto* const end = std::get_if<RecordEnd>(&*part)) {
        return finish(*end, *file);
      } else if (const auto* const why = std::get_if<RecordFailed>(&*part)) {
        return failed(why->why);
      }
    }
  }

  base::Expected<void> take(const RecordChunk& chunk, base::WholeFile& file) {
    if (chunk.offset != fetched_.bytes) return failed("a part of the recording was lost");
    // The agent notices its limit after it has written what it had read.
    constexpr std::uint64_t kSlack = std::uint64_t{16} << 20;
    if (fetched_.bytes + chunk.data.size() > options_.most_bytes + kSlack) {
      return failed("it sends more than was requested");
    }
    file.write(chunk.data);
    if (file.failed()) return file.finish();
    checksum_.add(chunk.data);
    fetched_.bytes += chunk.data.size();
    return bus_.send(control_, to_json(Request(RecordAck{id_, fetched_.bytes})));
  }

  base::Expected<Fetched> finish(const RecordEnd& end, base::WholeFile& file) {
    if (end.bytes != fetched_.bytes || end.crc != checksum_.value()) {
      return failed("the recording does not match its checksum");
    }
    if (const auto finished = file.finish(); !finished) return tl::unexpected(finished.error());
    fetched_.events = end.events;
    fetched_.lost = end.lost;
    fetched_.ended_early = end.why;
    return fetched_;
  }

  [[nodiscard]] tl::unexpected<base::Error> failed(const std::string& why) const {
    return base::fail(fmt::format("{}: {}", options_.host, why));
  }

  Bus& bus_;
  const FetchOptions& options_;
  const std::string id_;
  const std::string control_;
  Fetched fetched_;
  RecordChecksum checksum_;
};

}  // namespace

base::Expected<Fetched> fetch(Bus& bus, const FetchOptions& options) {
  return Fetch(bus, options).run();
}

}  // namespace rpcrdma::fleet

#include "streams.h"

#include "message_queue.h"
#include "nats_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {

namespace {

constexpr std::int64_t kStateAge = 60 * base::kSecond;
constexpr std::int64_t kFindingsAge = 7 * 24 * 3600 * base::kSecond;
constexpr std::int64_t kFindingsBytes = std::int64_t{256} << 20;
// So that no host evicts the findings of all others.
constexpr std::int64_t kFindingsOfHost = 20'000;
constexpr std::int64_t kMostHosts = 16'384;

struct StreamDeleter {
  void operator()(jsStreamInfo* info) const { jsStreamInfo_Destroy(info); }
};
using StreamInfo = std::unique_ptr<jsStreamInfo, StreamDeleter>;

struct Stream {
  const char* name;
  const char* subject;
  const char* description;
  jsStorageType storage;
  std::int64_t age;
  std::int64_t per_subject;
  std::int64_t messages;
  std::int64_t bytes;
  std::size_t message_bytes;
};

constexpr std::array<Stream, 2> kStreams{{
    {kStateStream, kAllStates, "The latest state of each host", js_MemoryStorage, kStateAge, 1,
     kMostHosts, -1, kMostSummaryBytes},
    {kFindingsStream, kAllFindings, "Findings of all hosts", js_FileStorage, kFindingsAge,
     kFindingsOfHost, -1, kFindingsBytes, kMostFindingBytes},
}};

base::Expected<void> refused(const Stream& stream, natsStatus status, jsErrCode code) {
  if (status == NATS_NO_RESPONDERS || code == JSNotEnabledErr ||
      code == JSNotEnabledForAccountErr) {
    return base::fail(
        "it has no JetStream, or not for this user's account: start nats-server with -js");
  }
  if (status == NATS_TIMEOUT || status == NATS_NOT_PERMITTED) {
    return base::fail(fmt::format(
        "stream {}: no answer from JetStream; this user may lack the permission $JS.API.STREAM.>",
        stream.name));
  }
  return base::fail(fmt::format("stream {}: {}", stream.name, status_text(status)));
}

// The settings that the fleet relies on. Replicas and placement, for example, are the operator's.
const char* difference(const jsStreamConfig& c, const Stream& wanted) {
  if (c.SubjectsLen != 1 || std::strcmp(c.Subjects[0], wanted.subject) != 0) return "subjects";
  if (c.Storage != wanted.storage) return "storage";
  if (c.MaxAge != wanted.age) return "max age";
  if (c.MaxMsgsPerSubject != wanted.per_subject) return "max messages per subject";
  if (wanted.bytes > 0 && c.MaxBytes <= 0) return "max bytes";
  if (c.Retention != js_LimitsPolicy) return "retention";
  if (c.Discard != js_DiscardOld) return "discard policy";
  return nullptr;
}

base::Expected<void> make(jsCtx* js, const Stream& stream) {
  jsStreamInfo* raw = nullptr;
  jsErrCode code{};
  natsStatus status = js_GetStreamInfo(&raw, js, stream.name, nullptr, &code);
  StreamInfo info(raw);
  if (status == NATS_NOT_FOUND && code != JSNotEnabledErr && code != JSNotEnabledForAccountErr) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char* subject = stream.subject;
    config.Name = stream.name;
    config.Description = stream.description;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Storage = stream.storage;
    config.MaxAge = stream.age;
    config.MaxMsgsPerSubject = stream.per_subject;
    config.MaxMsgs = stream.messages;
    config.MaxBytes = stream.bytes;
    config.MaxMsgSize = static_cast<std::int32_t>(stream.message_bytes);
    config.Discard = js_DiscardOld;
    raw = nullptr;
    status = js_AddStream(&raw, js, &config, nullptr, &code);
    info.reset(raw);
  }
  if (status != NATS_OK) return refused(stream, status, code);
  if (const char* const what = difference(*info->Config, stream)) {
    return base::fail(
        fmt::format("the stream {} exists with other settings ({}): delete it (nats stream rm {}) "
                    "or use another account",
                    stream.name, what, stream.name));
  }
  return {};
}

struct MessageDeleter {
  void operator()(natsMsg* m) const { natsMsg_Destroy(m); }
};

// Messages that the new consumer still has to deliver, or has delivered.
base::Expected<std::uint64_t> held(natsSubscription* subscription) {
  jsConsumerInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status = natsSubscription_GetConsumerInfo(&info, subscription, nullptr, &code);
  if (status != NATS_OK) return base::fail(status_text(status));
  const std::uint64_t all = info->NumPending + info->Delivered.Consumer;
  jsConsumerInfo_Destroy(info);
  return all;
}

}  // namespace

base::Expected<void> make_streams(jsCtx* js) {
  for (const Stream& stream : kStreams) {
    if (const auto made = make(js, stream); !made) return made;
  }
  return {};
}

base::Expected<void> replay(jsCtx* js, const Replay& what, std::chrono::milliseconds patience,
                            const SubscriptionEnd& end, const Bus::Take& take) {
  const auto failed = [&](natsStatus status, jsErrCode code) -> base::Expected<void> {
    if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) {
      return base::fail(
          fmt::format("it has no stream {}: no agent has connected to it", what.stream));
    }
    for (const Stream& stream : kStreams) {
      if (std::string_view(stream.name) == what.stream) return refused(stream, status, code);
    }
    return base::fail(status_text(status));
  };
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = what.stream;
  options.Ordered = true;
  options.Config.DeliverPolicy = what.latest ? js_DeliverLastPerSubject : js_DeliverByStartTime;
  if (!what.latest) options.Config.OptStartTime = std::max<std::int64_t>(what.since_ns, 1);
  natsSubscription* raw = nullptr;
  jsErrCode code{};
  natsStatus status = js_SubscribeSync(&raw, js, what.subject.c_str(), nullptr, &options, &code);
  if (status != NATS_OK) return failed(status, code);
  const OwnedSubscription subscription(raw, end);
  const auto all = held(raw);
  if (!all) return tl::unexpected(all.error());
  for (std::uint64_t i = 0; i < *all; ++i) {
    natsMsg* message = nullptr;
    status = natsSubscription_NextMsg(&message, raw, patience.count());
    if (status != NATS_OK) {
      return base::fail(fmt::format("after {} of {} messages: {}", i, *all, status_text(status)));
    }
    const std::unique_ptr<natsMsg, MessageDeleter> owned(message);
    if (!take(copied(message))) break;
  }
  return {};
}

}  // namespace rpcrdma::fleet

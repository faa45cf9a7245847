// The client's side of the echo program: encodes arguments and verifies results.
#include "echo_wire.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rpcrdma::service::echo {

using protocol::Piece;

namespace {

constexpr std::array<const char*, kProcedures> kNames{"NULL",      "ECHO", "SINK",  "SOURCE",
                                                      "ECHO_BULK", "LIST", "SLEEP", "COUNT"};
constexpr std::uint32_t kHead = kDataResultBytes;

CallHeader header(Proc proc) {
  return {kProgram, kVersion, static_cast<std::uint32_t>(proc)};
}

}  // namespace

const char* proc_name(Proc proc) {
  const auto i = static_cast<std::size_t>(proc);
  return i < kNames.size() ? kNames[i] : "?";
}

std::optional<Proc> proc_from_name(std::string_view name) {
  const auto same = [](char a, char b) {
    const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(a)));
    return (upper == '-' ? '_' : upper) == b;
  };
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (std::ranges::equal(name, std::string_view(kNames[i]), same)) return static_cast<Proc>(i);
  }
  return std::nullopt;
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight:
      return "right";
    case Verdict::kRpcError:
      return "RPC error";
    case Verdict::kStatus:
      return "refused by the server";
    case Verdict::kMalformed:
      return "malformed results";
    case Verdict::kWrongData:
      return "wrong data";
  }
  return "?";
}

struct EchoCall::Impl {
  Impl(protocol::MemoryPool& m, Pattern& p, const protocol::Block& b)
      : memory(m), pattern(p), space(b), headers{header(Proc::kNull),     header(Proc::kEcho),
                                                 header(Proc::kSink),     header(Proc::kSource),
                                                 header(Proc::kEchoBulk), header(Proc::kList),
                                                 header(Proc::kSleep),    header(Proc::kCount)} {}
  ~Impl() {
    if (space) memory.release(space);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void add(const Piece& piece) { pieces[piece_count++] = piece; }

  template <typename... Word>
  void add_words(Word... values) {
    add({put_words(words, values...), nullptr, false});
  }

  void add_data(bool ddp) {
    const std::uint32_t length = request.length;
    add_words(pattern.checksum(request.seed, length), length);
    add({pattern.bytes(request.seed, length), pattern.memory(), ddp});
    if (!ddp) add({roundup(length), nullptr, false});
  }

  // In bytes, without RPC header and DDP-eligible content.
  std::uint64_t longest_results() {
    switch (request.proc) {
      case Proc::kNull:
        return 0;
      case Proc::kEcho:
        return kHead + wire::xdr_padded(request.length);
      case Proc::kList:
        return kHead + list_bytes(request.count, request.length);
      case Proc::kSink:
      case Proc::kSource:
      case Proc::kEchoBulk:
      case Proc::kCount:
        return kHead;
      case Proc::kSleep:
        break;
    }
    return kResultBytes;
  }

  [[nodiscard]] bool has_bulk_result() const {
    return request.proc == Proc::kSource || request.proc == Proc::kEchoBulk;
  }

  [[nodiscard]] bool fits() const {
    const Request& r = request;
    switch (r.proc) {
      case Proc::kNull:
      case Proc::kCount:
        return true;
      case Proc::kEcho:
        return r.length <= std::min(kMaxEcho, pattern.longest());
      case Proc::kSink:
        return r.length <= pattern.longest();
      case Proc::kSource:
      case Proc::kEchoBulk:
        return r.length <= std::min(pattern.longest(), space.size);
      case Proc::kList:
        return r.length <= kMaxItem && list_bytes(r.count, r.length) <= kMaxListBytes &&
               std::uint64_t{r.count} * r.length <= pattern.longest();
      case Proc::kSleep:
        return r.sleep <= kMaxSleep;
    }
    return false;
  }

  void add_arguments() {
    const Request& r = request;
    switch (r.proc) {
      case Proc::kNull:
        break;
      case Proc::kEcho:
        add_data(false);
        break;
      case Proc::kSink:
      case Proc::kEchoBulk:
        add_data(true);
        break;
      case Proc::kSource:
        add_words(r.length, r.seed);
        break;
      case Proc::kList:
        add_words(r.count, r.length, r.seed);
        break;
      case Proc::kSleep:
        add_words(r.sleep);
        break;
      case Proc::kCount:
        add_words(1U);
        break;
    }
  }

  Verdict refused(Status why) {
    status = why;
    return Verdict::kStatus;
  }

  // The data must be what was sent or the pattern, and match the checksum.
  Verdict check_data(protocol::StreamReader& results) {
    const auto result =
        read_data_result(results, std::max(request.length, space.size), has_bulk_result());
    if (!result) return Verdict::kMalformed;
    times = result->times;
    if (result->status != Status::kOk) return refused(result->status);
    const std::uint32_t right = pattern.checksum(request.seed, request.length);
    return result->data.size() == request.length && result->checksum == right &&
                   checksum(result->data) == right
               ? Verdict::kRight
               : Verdict::kWrongData;
  }

  Verdict check_sink(protocol::StreamReader& results) {
    const auto result = read_sink_result(results);
    if (!result) return Verdict::kMalformed;
    times = result->times;
    if (result->status != Status::kOk) return refused(result->status);
    return result->length == request.length &&
                   result->checksum == pattern.checksum(request.seed, request.length)
               ? Verdict::kRight
               : Verdict::kWrongData;
  }

  Verdict check_list(protocol::StreamReader& results) {
    const auto head = read_list_head(results);
    if (!head) return Verdict::kMalformed;
    times = head->times;
    if (head->status != Status::kOk) return refused(head->status);
    const std::uint32_t bytes = request.count * request.length;
    if (head->count != request.count || head->checksum != pattern.checksum(request.seed, bytes)) {
      return Verdict::kWrongData;
    }
    const ListArgs list{request.count, request.length, request.seed};
    if (items_are(results, list, pattern.bytes(request.seed, bytes))) return Verdict::kRight;
    return results.ok() ? Verdict::kWrongData : Verdict::kMalformed;
  }

  Verdict check_count(protocol::StreamReader& results) {
    const auto result = read_count_result(results);
    if (!result) return Verdict::kMalformed;
    times = result->times;
    if (result->status != Status::kOk) return refused(result->status);
    count = result->count;
    return result->count != 0 ? Verdict::kRight : Verdict::kWrongData;
  }

  Verdict check(protocol::StreamReader& results) {
    switch (request.proc) {
      case Proc::kNull:
        return results.at_end() ? Verdict::kRight : Verdict::kMalformed;
      case Proc::kEcho:
      case Proc::kSource:
      case Proc::kEchoBulk:
        return check_data(results);
      case Proc::kSink:
        return check_sink(results);
      case Proc::kList:
        return check_list(results);
      case Proc::kCount:
        return check_count(results);
      case Proc::kSleep:
        break;
    }
    const auto result = read_sleep_result(results);
    if (!result) return Verdict::kMalformed;
    times = result->times;
    return result->status == Status::kOk ? Verdict::kRight : refused(result->status);
  }

  protocol::MemoryPool& memory;
  Pattern& pattern;
  protocol::Block space;  // for a bulk result; none if none is expected
  std::array<CallHeader, kProcedures> headers;
  Request request;
  std::optional<ServerTimes> times;  // of the last Reply
  std::optional<std::uint64_t> count;
  std::optional<Status> status;  // not OK
  Words words{};
  std::array<Piece, protocol::kMaxPieces> pieces;
  std::size_t piece_count = 0;
  protocol::ResultSpace result_space;
};

fabric::Expected<EchoCall> EchoCall::create(protocol::MemoryPool& memory, Pattern& pattern,
                                            std::uint32_t longest) {
  if (longest > pattern.longest()) {
    return fabric::fail(fabric::Errc::kBadArgument, "longer than the pattern");
  }
  protocol::Block block;
  if (longest != 0) {
    const auto taken = memory.acquire(longest);
    if (!taken) return tl::unexpected(taken.error());
    block = *taken;
  }
  return EchoCall(std::make_unique<Impl>(memory, pattern, block));
}

EchoCall::EchoCall(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EchoCall::EchoCall(EchoCall&& other) noexcept = default;
EchoCall::~EchoCall() = default;

fabric::Expected<protocol::CallSpec> EchoCall::begin(const Request& request) {
  Impl& c = *impl_;
  const Request before = std::exchange(c.request, request);
  if (!c.fits()) {
    c.request = before;
    return fabric::fail(fabric::Errc::kBadArgument, "longer than the space for it");
  }
  c.piece_count = 0;
  c.add(c.headers[static_cast<std::size_t>(request.proc)].piece());
  c.add_arguments();
  protocol::CallSpec spec;
  spec.message = std::span(c.pieces).first(c.piece_count);
  spec.max_reply = kReplyHeaderBytes + static_cast<std::uint32_t>(c.longest_results());
  if (c.has_bulk_result() && request.length != 0) {
    c.result_space = {c.space.data, request.length, c.space.memory};
    spec.results = {&c.result_space, 1};
  }
  return spec;
}

Verdict EchoCall::check(const protocol::CallOutcome& outcome) {
  Impl& c = *impl_;
  c.times.reset();
  c.count.reset();
  c.status.reset();
  const bool bulk = c.has_bulk_result() && c.request.length != 0;
  ReplyReader reply(outcome, bulk ? std::span<const protocol::ResultSpace>(&c.result_space, 1)
                                  : std::span<const protocol::ResultSpace>());
  if (reply.status() != RpcStatus::kSuccess) return Verdict::kRpcError;
  return c.check(reply.results());
}

std::optional<ServerTimes> EchoCall::server_times() const {
  return impl_->times;
}

std::optional<std::uint64_t> EchoCall::count() const {
  return impl_->count;
}

std::optional<Status> EchoCall::status() const {
  return impl_->status;
}

const Request& EchoCall::request() const {
  return impl_->request;
}

std::uint64_t EchoCall::payload_bytes(const Request& request) {
  switch (request.proc) {
    case Proc::kEcho:
    case Proc::kEchoBulk:
      return 2 * std::uint64_t{request.length};
    case Proc::kSink:
    case Proc::kSource:
      return request.length;
    case Proc::kList:
      return std::uint64_t{request.count} * request.length;
    case Proc::kNull:
    case Proc::kSleep:
    case Proc::kCount:
      break;
  }
  return 0;
}

}  // namespace rpcrdma::service::echo

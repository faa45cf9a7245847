#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/load_agents/frame.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::load_agents {
namespace {

// Not text: no banner contains it.
constexpr std::array<std::uint8_t, 8> kMark{0x00, 'r', 'p', 'c', 'l', 'o', 'a', 'd'};

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kOptionBytes = std::size_t{1} << 20;
constexpr std::size_t kIntervalBytes = std::size_t{1} << 20;
constexpr std::size_t kResultBytes = std::size_t{64} << 20;

}  // namespace

std::optional<std::size_t> most_body_bytes(FrameType type) {
  switch (type) {
    case FrameType::kHello:
    case FrameType::kPong:
    case FrameType::kRefusal:
    case FrameType::kLocated:
    case FrameType::kPing:
    case FrameType::kLocate:
    case FrameType::kStart:
      return kSmall;
    case FrameType::kReady:
    case FrameType::kConnected:
    case FrameType::kStop:
      return 0;
    case FrameType::kOptions:
    case FrameType::kConnect:
      return kOptionBytes;
    case FrameType::kInterval:
      return kIntervalBytes;
    case FrameType::kResult:
      return kResultBytes;
  }
  return std::nullopt;
}

void append_frame(std::vector<std::uint8_t>& out, FrameType type, Bytes body) {
  const std::size_t at = out.size();
  out.resize(at + kFrameHeaderBytes);
  std::ranges::copy(kMark, out.begin() + static_cast<std::ptrdiff_t>(at));
  wire::store_be32(&out[at + 8], static_cast<std::uint32_t>(type));
  wire::store_be32(&out[at + 12], static_cast<std::uint32_t>(body.size()));
  out.insert(out.end(), body.begin(), body.end());
}

void FrameReader::append(Bytes bytes) {
  if (error_) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FrameReader::end() {
  if (begun_ || error_) return;
  banner_.append(buffer_.begin(), buffer_.end());
  banner_.resize(std::min(banner_.size(), most_banner_));
  buffer_.clear();
}

bool FrameReader::skip_banner() {
  if (begun_) return true;
  const auto mark = std::search(buffer_.begin(), buffer_.end(), kMark.begin(), kMark.end());
  begun_ = mark != buffer_.end();
  // The mark may have arrived in part.
  const std::size_t text = begun_ ? static_cast<std::size_t>(mark - buffer_.begin())
                                  : buffer_.size() - std::min(buffer_.size(), kMark.size() - 1);
  banner_.append(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(text));
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(text));
  if (banner_.size() > most_banner_) {
    banner_.resize(most_banner_);
    error_ = base::Error{"it sends something else than an agent of a load does"};
  }
  return begun_;
}

base::Expected<std::optional<Frame>> FrameReader::next() {
  const bool at_frame = !error_ && skip_banner();
  if (error_) return tl::unexpected(*error_);
  const Bytes rest = Bytes(buffer_).subspan(at_);
  if (!at_frame || rest.size() < kFrameHeaderBytes) return std::nullopt;
  const auto type = static_cast<FrameType>(wire::load_be32(&rest[8]));
  const std::size_t length = wire::load_be32(&rest[12]);
  const auto most = most_body_bytes(type);
  if (!std::equal(kMark.begin(), kMark.end(), rest.begin())) {
    error_ = base::Error{"something else has written to the output of the agent"};
  } else if (!most) {
    error_ = base::Error{
        fmt::format("a message has the unknown type {}", static_cast<std::uint32_t>(type))};
  } else if (length > *most) {
    error_ = base::Error{fmt::format("a message of type {} is too long: {} bytes, at most {}",
                                     static_cast<std::uint32_t>(type), length, *most)};
  }
  if (error_) return tl::unexpected(*error_);
  if (rest.size() - kFrameHeaderBytes < length) return std::nullopt;
  const Bytes body = rest.subspan(kFrameHeaderBytes, length);
  at_ += kFrameHeaderBytes + length;
  return Frame{type, {body.begin(), body.end()}};
}

}  // namespace rpcrdma::load_agents

#include <rpcrdma/base/frame.h>
#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>

namespace rpcrdma::base {

namespace {

// A suspended endpoint sends the rest of a block at once when it resumes, in fewer reads than this.
// A block that needs more is trickling.
constexpr std::size_t kReadsOfABlock = 16;

}  // namespace

std::span<const std::uint8_t> WholeBlocks::add(std::span<const std::uint8_t> bytes,
                                               Clock::time_point now) {
  if (broken()) return {};
  const bool within = within_block();
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  const std::span<const std::uint8_t> all(bytes_);
  while (all.size() - given_ >= pcapng::kBlockHead) {
    const auto length = pcapng::word(all, given_ + pcapng::kLengthAt);
    if (length < pcapng::kSmallestBlock || length % 4 != 0 ||
        (!section_ && pcapng::word(all, given_) != pcapng::kSectionHeader)) {
      why_ = "it does not send pcapng";
    } else if (length > kMaxBlock) {
      why_ = "it sends a larger block than any endpoint does";
    }
    if (broken() || length > all.size() - given_) break;
    take(all.subspan(given_, length));
    if (broken()) break;
    given_ += length;
  }
  watch_trickle(given_ != 0 || !within, now);
  return all.first(given_);
}

void WholeBlocks::take(std::span<const std::uint8_t> block) {
  switch (pcapng::word(block, 0)) {
    case pcapng::kSectionHeader:
      if (section_) why_ = "it sends a second section, where an endpoint sends one";
      section_ = true;
      head_ += block.size();
      break;
    case pcapng::kInterfaceDescription:
      head_ += block.size();
      if (++interfaces_ > kMaxInterfaces) {
        why_ = "it sends more interfaces than an endpoint has";
      } else if (block.size() >= pcapng::kSmallestBlock + sizeof(std::uint16_t) &&
                 ByteOrder{}.u16(block.data() + pcapng::kLinkTypeAt) !=
                     static_cast<std::uint16_t>(LinkType::kUpperPdu)) {
        begun_ = true;
      }
      break;
    case pcapng::kEnhancedPacket:
      packets_ += block.size();
      begun_ = true;
      break;
    default:
      beside_ += block.size();
      if (beside_ > kMaxBeside + packets_) why_ = "it sends hardly any packets";
  }
  if (head_ > kMaxHead) why_ = "its stream header is longer than any endpoint's";
}

// `progress`: the last block is not the one that was last at the previous call.
void WholeBlocks::watch_trickle(bool progress, Clock::time_point now) {
  if (progress || !within_block()) {
    block_began_ = now;
    reads_ = 0;
  } else if (++reads_ > kReadsOfABlock && now - block_began_ >= patience_.block) {
    why_ = "it does not send the rest of a block";
  }
}

std::optional<WholeBlocks::Clock::time_point> WholeBlocks::deadline() const {
  if (begun_ || broken()) return std::nullopt;
  return opened_ + patience_.begin;
}

void WholeBlocks::expire(Clock::time_point now) {
  if (const auto until = deadline(); until && now >= *until) why_ = "it does not answer";
}

}  // namespace rpcrdma::base

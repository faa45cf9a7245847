#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rpcrdma/rules/rejection.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::rules {
namespace {

constexpr std::uint16_t kNfsPort = 2049;

// IBA volume 1 section 12.6.7.2, and what Linux means by them.
enum Reason : std::uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupportedRequest = 5,
  kInvalidCommId = 6,
  kInvalidInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransport = 9,
  kStaleConnection = 10,
  kFirstPathReason = 12,
  kLastPathReason = 23,
  kPortCmRedirection = 24,
  kPortRedirection = 25,
  kInvalidMtu = 26,
  kResponderResources = 27,
  kConsumer = 28,
  kRnrRetry = 29,
  kDuplicateCommId = 30,
  kClassVersion = 31,
  kPrimaryFlowLabel = 32,
  kAlternateFlowLabel = 33,
  kVendorOption = 35,
};

}  // namespace

std::string rejection_data(std::span<const std::uint8_t> data) {
  if (data.empty()) return {};
  if (const auto pd = wire::decode_private_data(data)) {
    return fmt::format("send {} B, receive {} B, remote invalidation {} (RFC 8797)",
                       pd->send_size(), pd->recv_size(), pd->remote_invalidation() ? "yes" : "no");
  }
  const bool text = data.size() >= 4 && std::all_of(data.begin(), data.end(), [](std::uint8_t c) {
                      return c >= 0x20 && c <= 0x7e;
                    });
  if (text) return fmt::format("\"{}\"", std::string(data.begin(), data.end()));
  constexpr std::size_t kShown = 32;
  const std::string bytes =
      fmt::format("{:02x}{}", fmt::join(data.first(std::min(data.size(), kShown)), ""),
                  data.size() > kShown ? fmt::format("... ({} B)", data.size()) : std::string());
  return data.size() == 4 ? fmt::format("{} ({})", bytes, wire::load_be32(data.data())) : bytes;
}

std::string rejection_text(const roce::Connection& c) {
  const std::string data = rejection_data(c.reject_data);
  return fmt::format("{}{}{}", wire::cm_rej_reason(c.reject_reason),
                     data.empty() ? "" : "; private data ", data);
}

std::string rejection_meaning(std::uint16_t reason, std::uint64_t service_id) {
  if (reason != kInvalidServiceId) return {};
  return wire::is_rdma_ip_service(service_id)
             ? fmt::format("nothing listens on port {}", wire::service_port(service_id))
             : "nothing listens for this service";
}

const char* rejection_advice(const roce::Connection& c) {
  switch (c.reject_reason) {
    case kNoQp:
    case kNoEec:
    case kNoResources:
      return "Free resources of the sender of the REJ: its device or its limits have no room for a "
             "further queue pair, completion queue or memory region. Check the number of its "
             "connections and its locked-memory limit (ulimit -l).";
    case kTimeout:
      return "Find out why the other side's CM message did not arrive in time: the sender of the "
             "REJ gave up waiting. Check its load, the path of UDP port 4791 in both directions, "
             "and firewalls.";
    case kUnsupportedRequest:
    case kInvalidTransport:
    case kClassVersion:
    case kVendorOption:
      return "Compare the CM versions and features of both devices: the sender of the REJ does not "
             "support what the REQ asks for.";
    case kInvalidCommId:
    case kInvalidInstance:
      return "Connect again: the sender of the REJ does not know this exchange, as after a "
             "restart.";
    case kInvalidServiceId:
      return wire::is_rdma_ip_service(c.service_id) && wire::service_port(c.service_id) == kNfsPort
                 ? "Mount with proto=rdma,port=20049: NFS/RDMA servers do not listen on port 2049."
                 : "Start the listener: no program listens for RDMA on that port. For Linux's NFS "
                   "server: load rpcrdma (svcrdma), then echo rdma 20049 > "
                   "/proc/fs/nfsd/portlist, or set rdma=y in /etc/nfs.conf.";
    case kStaleConnection:
      return "Wait and connect again: the sender of the REJ still has an older connection with "
             "the same queue pair, as after a crash of its peer; it ends it now.";
    case kPortCmRedirection:
    case kPortRedirection:
      return "Connect to the port that the REJ names: the sender redirects connections.";
    case kInvalidMtu:
      return "Use a path MTU that both ports support: the active MTU of the port that refused is "
             "smaller (ibv_devinfo).";
    case kResponderResources:
      return "Ask for fewer RDMA Reads in flight: the sender of the REJ supports fewer than the "
             "REQ or REP names.";
    case kConsumer:
      return "Look into the log of the program that refused: the network and the CM worked. The "
             "meaning of the private data is its own; a server refuses for example by its limit of "
             "connections.";
    case kRnrRetry:
      return "Set the RNR retry count that the sender of the REJ demands.";
    case kDuplicateCommId:
      return "Connect again: the communication ID is in use by another connection.";
    default:
      break;
  }
  const bool path = (c.reject_reason >= kFirstPathReason && c.reject_reason <= kLastPathReason) ||
                    c.reject_reason == kPrimaryFlowLabel || c.reject_reason == kAlternateFlowLabel;
  return path ? "Compare addresses, GID indexes and RoCE versions of both ports: the path that the "
                "REQ names does not fit the port that received it."
              : nullptr;
}

}  // namespace rpcrdma::rules

#include "names.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <rpcrdma/base/byte_order.h>

namespace rpcrdma::tracepoints {
namespace {

using namespace std::string_view_literals;

constexpr std::uint32_t kNfs = 100003;
constexpr std::uint32_t kNfsCallback = 0x40000000;

// In order of their numbers, as the kernel's client names them.
constexpr auto kNfs2 = std::to_array<std::string_view>(
    {"NULL", "GETATTR", "SETATTR", "ROOT", "LOOKUP", "READLINK", "READ", "WRITECACHE", "WRITE",
     "CREATE", "REMOVE", "RENAME", "LINK", "SYMLINK", "MKDIR", "RMDIR", "READDIR", "STATFS"});
constexpr auto kNfs3 = std::to_array<std::string_view>(
    {"NULL",    "GETATTR",     "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",   "WRITE",
     "CREATE",  "MKDIR",       "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
     "READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT"});
constexpr auto kNfsAcl = std::to_array<std::string_view>({"NULL", "GETACL", "SETACL"});
constexpr auto kMount =
    std::to_array<std::string_view>({"NULL", "MOUNT", "DUMP", "UMOUNT", "UMOUNTALL", "EXPORT"});
constexpr auto kLock = std::to_array<std::string_view>(
    {"NULL", "TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "TEST_MSG", "LOCK_MSG", "CANCEL_MSG",
     "UNLOCK_MSG", "GRANTED_MSG", "TEST_RES", "LOCK_RES", "CANCEL_RES", "UNLOCK_RES",
     "GRANTED_RES"});

struct KernelProgram {
  std::string_view name;
  std::uint32_t version;
  std::uint32_t number;
  std::span<const std::string_view> procedures;
};
constexpr auto kPrograms = std::to_array<KernelProgram>({
    {"nfs", 2, kNfs, kNfs2},
    {"nfs", 3, kNfs, kNfs3},
    {"nfsacl", 3, 100227, kNfsAcl},
    {"mount", 1, 100005, kMount},
    {"mount", 3, 100005, kMount},
    {"lockd", 1, 100021, kLock},
    {"lockd", 3, 100021, kLock},
    {"lockd", 4, 100021, kLock},
});

void take_port(std::string_view text, Address& address) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error == std::errc{} && end == text.data() + text.size()) address.port = port;
}

void set_ipv4(Address& address, const void* bytes) {
  address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(address.bytes.data() + 12, bytes, 4);
  address.known = true;
}

}  // namespace

RpcProcedure procedure_of(std::string_view program, std::uint32_t version,
                          std::string_view procedure) {
  // A COMPOUND is named after its main operation.
  if (program == "nfs" && version == 4) return {kNfs, version, procedure == "NULL" ? 0U : 1U};
  if (program == "nfs4_cb" || program == "NFSv4 callback" || program == "nfs_cb") {
    return {kNfsCallback, version, procedure == "CB_NULL" || procedure == "NULL" ? 0U : 1U};
  }
  for (const KernelProgram& p : kPrograms) {
    if (p.name != program || p.version != version) continue;
    const auto it = std::find(p.procedures.begin(), p.procedures.end(), procedure);
    if (it == p.procedures.end()) return {};
    return {p.number, version, static_cast<std::uint32_t>(it - p.procedures.begin())};
  }
  return {};
}

std::uint32_t program_of_service(std::string_view service) {
  if (service == "nfsd" || service == "nfs") return kNfs;
  if (service == "nfsacl") return 100227;
  if (service == "lockd") return 100021;
  if (service == "NFSv4 callback") return kNfsCallback;
  return 0;
}

std::string errno_text(std::int64_t negative) {
  constexpr std::int64_t kMostErrno = 4095;
  if (negative >= 0 || negative < -kMostErrno) return "status " + std::to_string(negative);
  std::array<char, 128> buffer{};
  return ::strerror_r(static_cast<int>(-negative), buffer.data(), buffer.size());
}

Address address_of_text(std::string_view text) {
  Address address;
  constexpr std::size_t kLongest = 63;
  if (text.size() > kLongest) return address;
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return address;
    host = text.substr(1, end - 1);
    if (end + 1 < text.size() && text[end + 1] == ':') port = text.substr(end + 2);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size() + 1);
  }
  host = host.substr(0, host.find('%'));  // zone of a link-local address
  const std::string name(host);
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1) {
    set_ipv4(address, bytes.data());
  } else if (::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1) {
    address.bytes = bytes;
    address.known = true;
  } else {
    return address;
  }
  if (!port.empty()) take_port(port, address);
  return address;
}

Address socket_address(const Record& record, Field field) {
  if (record.is_text) return address_of_text(record.text(field));
  Address address;
  const std::string_view bytes = record.bytes(field);
  if (bytes.size() < 8) return address;
  const auto* const p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const std::uint16_t family = base::ByteOrder{record.swapped}.u16(p);
  const auto port = static_cast<std::uint16_t>(p[2] << 8U | p[3]);
  if (family == AF_INET) {
    set_ipv4(address, p + 4);
  } else if (family == AF_INET6 && bytes.size() >= 24) {
    std::memcpy(address.bytes.data(), p + 8, 16);
    address.known = true;
  } else {
    return address;
  }
  address.port = port;
  return address;
}

Address peer_address(const Record& record) {
  Address address = address_of_text(record.text(Field::kAddr));
  if (address.known && record.has(Field::kPort)) take_port(record.text(Field::kPort), address);
  return address;
}

std::string address_text(const Address& address) {
  if (!address.known) return "an unknown peer";
  std::array<char, INET6_ADDRSTRLEN> text{};
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    ::inet_ntop(AF_INET, address.bytes.data() + 12, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  }
  return text.data();
}

}  // namespace rpcrdma::tracepoints

// NFS mounts as the traffic shows them: which connections belong together, which limit holds back
// their Calls, where callbacks go, and where pNFS sends I/O. Plain values; Tracker collects them.
//
// A mount is an NFSv4.1 or 4.2 session; for NFSv4.0, 3 and 2 it is a client's address, a server's
// address and a version.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpcrdma::mounts {

// Limits of what is kept, whatever the capture contains. What is beyond is counted.
inline constexpr std::size_t kMaxMounts = 256;
inline constexpr std::size_t kMaxMountConnections = 64;
inline constexpr std::size_t kMaxDataServers = 64;  // of one mount
inline constexpr std::size_t kMaxExports = 8;       // of one mount
inline constexpr std::size_t kMaxText = 256;        // bytes of an owner or a path
inline constexpr std::uint32_t kMaxSlots = 1024;    // higher ones are not followed

// A state that comes and goes: how often it came and how long it lasted.
struct Spells {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;

  void add(const Spells& other) {
    count += other.count;
    ns += other.ns;
  }
  friend bool operator==(const Spells&, const Spells&) = default;
};

// What CREATE_SESSION negotiated for one channel.
struct Channel {
  std::uint32_t slots = 0;              // ca_maxrequests
  std::uint32_t max_request_size = 0;   // bytes
  std::uint32_t max_response_size = 0;  // bytes
  std::uint32_t max_operations = 0;
};

struct MountConnection {
  std::uint32_t id = 0;     // of the connection
  bool fore = false;        // Calls of the client were sent on it
  bool back_bound = false;  // CREATE_SESSION or BIND_CONN_TO_SESSION bound the backchannel to it
  std::uint64_t calls = 0;
  std::uint64_t callbacks = 0;
  std::uint64_t reads = 0;  // Calls
  std::uint64_t writes = 0;
  std::uint32_t credits_granted = 0;  // by the latest Reply; 0: none seen
  std::uint32_t credits_in_use_max = 0;
};

struct Callback {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::string operation;  // "CB_RECALL"; "CB_NULL"; empty: it cannot be read
  std::string status;     // of its Reply: "NFS4_OK"; empty: not seen, or it cannot be read
};

struct Backchannel {
  std::optional<bool> requested;  // csa_flags had CONN_BACK_CHAN; nothing: not seen
  std::optional<bool> granted;    // csr_flags had it
  std::uint64_t callbacks = 0;
  std::uint64_t answered = 0;
  std::optional<Callback> last;
  // Replies to SEQUENCE whose status flags report the backchannel as down or faulty.
  std::uint64_t down_replies = 0;
  std::uint64_t down_first_frame = 0;
  std::uint64_t down_last_frame = 0;
  bool down_at_end = false;
  std::uint32_t status_flags = 0;  // sr_status_flags: all bits that were seen
  // NFSv4.0, of SETCLIENTID.
  std::string netid, address;
};

struct DataServer {
  std::string netid;  // "tcp", "rdma", ...
  std::string address;
  std::optional<std::uint32_t> port;
  bool rdma = false;
  std::uint64_t devices = 0;               // GETDEVICEINFO results that name it
  std::vector<std::uint64_t> connections;  // IDs: to its address, in this capture
  std::uint64_t reads = 0;                 // Calls on them
  std::uint64_t writes = 0;
};

struct Export {
  std::string path;
};

struct Layouts {
  std::uint64_t granted = 0;  // LAYOUTGETs
  std::uint64_t refused = 0;
  std::string last_refusal;  // "NFS4ERR_LAYOUTUNAVAILABLE"
  std::uint64_t returned = 0;
  std::uint64_t recalled = 0;            // CB_LAYOUTRECALLs
  std::uint64_t errors = 0;              // LAYOUTERRORs
  std::array<std::uint64_t, 6> types{};  // of granted ones, by layouttype4; 0: others
  std::uint64_t mds_reads = 0;           // READs of files with a layout, on this mount
  std::uint64_t mds_writes = 0;          // WRITEs
  std::vector<DataServer> servers;
  std::uint64_t more_servers = 0;  // addresses beyond kMaxDataServers
  std::uint64_t not_followed = 0;  // layouts of files that are not known, or beyond a limit

  [[nodiscard]] bool any() const { return granted + refused + recalled != 0 || !servers.empty(); }
};

enum class Limit : std::uint8_t { kNone, kSlots, kCredits, kBoth, kUnknown };
[[nodiscard]] const char* limit_name(Limit limit);  // "none", "slots", "credits", "both", "unknown"

struct Mount {
  std::uint32_t version = 0;
  std::optional<std::uint32_t> minor;  // of version 4; nothing: its COMPOUNDs cannot be read
  std::string client, server;          // addresses
  std::string session;                 // 32 hexadecimal digits; empty: not of version 4.1 or later
  std::optional<std::uint64_t> client_id;
  std::string client_owner, server_owner, server_scope;
  std::uint32_t exchange_flags = 0;  // eir_flags; 0: not seen
  std::uint64_t created_frame = 0;   // of CREATE_SESSION's Reply; 0: not seen
  std::uint64_t destroyed_frame = 0;
  bool reclaim_complete = false;
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::optional<Channel> fore, back;
  std::vector<MountConnection> connections;  // by ID
  std::uint64_t more_connections = 0;        // beyond kMaxConnections
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t delegations = 0;  // granted
  // Slots that the client may use: by the latest SEQUENCE result, or by CREATE_SESSION.
  std::optional<std::uint32_t> slots;
  std::optional<std::uint32_t> slots_in_use_max;
  std::uint32_t slots_beyond = 0;  // Calls with slots beyond kMaxSlots
  Spells slots_full;               // all slots were in use
  Spells credits_full;             // all credits of a connection were in use
  Backchannel backchannel;
  std::vector<Export> exports;  // of MNT Calls
  Layouts layouts;

  [[nodiscard]] Limit limit() const;
  // Over all its connections: the latest grants, and the most that were in use on any.
  [[nodiscard]] std::uint64_t credits_granted() const;
  [[nodiscard]] std::uint32_t credits_in_use_max() const;
};

// "NFSv4.1", "NFSv4", "NFSv3"
[[nodiscard]] std::string version_text(const Mount& mount);
// The names of the bits of sr_status_flags, without the prefix SEQ4_STATUS_: "CB_PATH_DOWN".
[[nodiscard]] std::vector<std::string> status_flag_names(std::uint32_t flags);

struct Mounts {
  std::vector<Mount> list;          // by first frame
  std::uint64_t omitted_calls = 0;  // Calls of mounts beyond kMaxMounts
  std::uint64_t not_followed = 0;   // Calls that set up sessions or layouts, beyond a limit

  [[nodiscard]] bool any() const { return !list.empty() || omitted_calls != 0; }
};

// Adds the path of a MNT Call, unless it is known or there are too many.
void add_export(Mount& mount, std::string path);

// Adds a mount that continues in a later capture. IDs and frames are those of the whole.
void add(Mount& to, Mount&& from);

// Whether both are the same mount.
[[nodiscard]] bool same(const Mount& a, const Mount& b);

// Finds the connections to each data server in the list.
void find_data_servers(Mounts& mounts);

}  // namespace rpcrdma::mounts

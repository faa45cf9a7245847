#include "compound.h"
#include "nfs4_types.h"
#include "operation_items.h"
#include "written_chunks.h"

#include <array>
#include <string_view>

#include <rpcrdma/decode/compound_call.h>
#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using Kind = NfsItem::Kind;

constexpr std::uint32_t kMaxHandle = 128;  // NFS4_FHSIZE
constexpr std::uint32_t kMaxName = 4096;   // a path of MNT takes 1024, a component is not limited
constexpr std::size_t kNfs2Handle = 32;
constexpr std::size_t kStateidBytes = 16;

// The table of each byte of a word: [n] is for a byte that n bytes follow.
using CrcTables = std::array<std::array<std::uint32_t, 256>, 4>;
constexpr CrcTables kCrcTables = [] {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
    tables[0][i] = crc;
  }
  for (std::size_t n = 1; n < tables.size(); ++n) {
    for (std::uint32_t i = 0; i < 256; ++i) {
      const std::uint32_t crc = tables[n - 1][i];
      tables[n][i] = tables[0][crc & 0xff] ^ (crc >> 8);
    }
  }
  return tables;
}();

// Reads items from a stream and passes them on. The reader fails at the first that does not fit.
class ItemReader {
 public:
  ItemReader(wire::Bytes stream, NfsItemSink& sink, std::size_t offset = 0,
             std::uint32_t operation = 0)
      : reader_(stream, offset), sink_(sink), operation_(operation) {}

  [[nodiscard]] wire::XdrReader& reader() { return reader_; }

  void handle() { add_handle(reader_.opaque(kMaxHandle)); }
  void fixed_handle() { add_handle(reader_.opaque_fixed(kNfs2Handle)); }
  void name() {
    const wire::Bytes bytes = reader_.opaque(kMaxName);
    if (!reader_.ok()) return;
    add(Kind::kName, place(bytes), bytes.size(), 0);
  }
  void stateid() {
    const std::size_t at = reader_.offset();
    reader_.skip(kStateidBytes);
    if (reader_.ok()) add(Kind::kStateid, at, kStateidBytes, 0);
  }
  void word(Kind kind) {
    const std::uint32_t value = reader_.u32();
    if (reader_.ok()) add(kind, reader_.offset() - 4, 4, value);
  }
  void hyper(Kind kind) {
    const std::uint64_t value = reader_.u64();
    if (reader_.ok()) add(kind, reader_.offset() - 8, 8, value);
  }

  // Reads what each letter stands for: h handle, H handle of version 2, n name, o offset, c count,
  // w a word and l a hyper without an item.
  void read(std::string_view letters) {
    for (const char letter : letters) {
      switch (letter) {
        case 'h':
          handle();
          break;
        case 'H':
          fixed_handle();
          break;
        case 'n':
          name();
          break;
        case 'o':
          hyper(Kind::kOffset);
          break;
        case 'c':
          word(Kind::kCount);
          break;
        case 'w':
          reader_.skip(4);
          break;
        default:
          reader_.skip(8);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t place(wire::Bytes bytes) const {
    return static_cast<std::size_t>(bytes.data() - reader_.data().data());
  }
  void add_handle(wire::Bytes bytes) {
    if (reader_.ok()) add(Kind::kHandle, place(bytes), bytes.size(), handle_hash(bytes));
  }
  void add(Kind kind, std::size_t offset, std::size_t length, std::uint64_t value) {
    sink_.item({kind, operation_, offset, length, value});
  }

  wire::XdrReader reader_;
  NfsItemSink& sink_;
  std::uint32_t operation_;
};

// The fronts of arguments, by procedure (RFC 1094 section 2.2).
constexpr std::array<std::string_view, 18> kNfs2Arguments = {"",    "H",  "H",  "",   "Hn", "H",
                                                             "H",   "",   "H",  "Hn", "Hn", "HnHn",
                                                             "HHn", "Hn", "Hn", "Hn", "H",  "H"};

// RFC 1813 section 3.3.
constexpr std::array<std::string_view, 22> kNfs3Arguments = {
    "",   "h",  "h",  "hn",   "h",   "h", "hoc", "hoc", "hn", "hn", "hn",
    "hn", "hn", "hn", "hnhn", "hhn", "h", "h",   "h",   "h",  "h",  "hoc"};

void nfs2_arguments(std::uint32_t procedure, wire::Bytes args, NfsItemSink& sink) {
  constexpr std::uint32_t kRead = 6;
  constexpr std::uint32_t kWrite = 8;
  if (procedure >= kNfs2Arguments.size()) return;
  ItemReader in(args, sink);
  in.read(kNfs2Arguments[procedure]);
  if (procedure == kRead || procedure == kWrite) {
    if (procedure == kWrite) in.read("w");  // beginoffset
    in.word(Kind::kOffset);
    if (procedure == kWrite) in.read("w");  // totalcount
    in.word(Kind::kCount);
  }
}

// A lock: its cookie, its flags, then the file, the owner and the range. The numbers of procedures
// whose results come as a Call of the server are greater by 5.
void nlm_arguments(const ProcedureId& id, ItemReader& in) {
  constexpr std::array<unsigned, 6> kFlags = {0, 1, 2, 2, 0, 1};  // none, TEST, LOCK, CANCEL, ...
  const std::uint32_t procedure = id.procedure > 5 ? id.procedure - 5 : id.procedure;
  if (procedure == 0 || procedure >= kFlags.size()) return;
  (void)in.reader().opaque();  // cookie
  in.reader().skip(4 * std::size_t{kFlags[procedure]});
  (void)in.reader().opaque();  // caller_name
  in.handle();
  (void)in.reader().opaque();  // owner
  in.read("w");                // svid
  for (const Kind kind : {Kind::kOffset, Kind::kCount}) {
    id.version == 4 ? in.hyper(kind) : in.word(kind);
  }
}

void optional_attributes(ItemReader& in) {
  constexpr std::size_t kAttributes = 84;
  if (in.reader().u32() == 1) in.reader().skip(kAttributes);
}

// wcc_data: size and two times before, attributes after.
void wcc_data(ItemReader& in) {
  constexpr std::size_t kBefore = 24;
  if (in.reader().u32() == 1) in.reader().skip(kBefore);
  optional_attributes(in);
}

void nfs3_entries(ItemReader& in, bool plus) {
  optional_attributes(in);
  in.read("l");  // cookieverf
  while (in.reader().ok() && in.reader().u32() == 1) {
    in.read("lnl");  // fileid, name, cookie
    if (!plus) continue;
    optional_attributes(in);
    if (in.reader().u32() == 1) in.handle();
  }
}

void nfs3_results(std::uint32_t procedure, ItemReader& in) {
  switch (procedure) {
    case 3:  // LOOKUP
      in.handle();
      break;
    case 6:  // READ
      optional_attributes(in);
      in.word(Kind::kCount);
      break;
    case 7:  // WRITE
      wcc_data(in);
      in.word(Kind::kCount);
      break;
    case 8:   // CREATE
    case 9:   // MKDIR
    case 10:  // SYMLINK
    case 11:  // MKNOD
      if (in.reader().u32() == 1) in.handle();
      break;
    case 16:  // READDIR
    case 17:  // READDIRPLUS
      nfs3_entries(in, procedure == 17);
      break;
    default:
      break;
  }
}

// RFC 7531, RFC 7863. `in` is at the operation's arguments, as is `reduction`.
void operation_arguments(std::uint32_t op, ItemReader& in, const CallReduction& reduction) {
  switch (op) {
    case 4:   // CLOSE
    case 8:   // DELEGRETURN
    case 20:  // OPEN_CONFIRM
    case 21:  // OPEN_DOWNGRADE
    case 34:  // SETATTR
    case 45:  // FREE_STATEID
      if (op == 4) in.read("w");
      in.stateid();
      break;
    case 5:  // COMMIT
      in.read("oc");
      break;
    case 6: {                          // CREATE
      CallReduction copy = reduction;  // the link text may be in a chunk
      skip_value(in.reader(), nfs4::kCreateType, copy);
      in.name();
      break;
    }
    case 11:  // LINK
    case 15:  // LOOKUP
    case 28:  // REMOVE
    case 33:  // SECINFO
      in.name();
      break;
    case 18: {                     // OPEN
      in.read("www");              // seqid, share_access, share_deny
      in.reader().skip(8);         // clientid
      (void)in.reader().opaque();  // owner
      CallReduction copy = reduction;
      skip_value(in.reader(), nfs4::kOpenFlag, copy);
      const std::uint32_t claim = in.reader().u32();
      if (claim == 2 || claim == 5) in.stateid();             // of a delegation
      if (claim == 0 || claim == 2 || claim == 3) in.name();  // by the current file handle: a name
      break;
    }
    case 22:  // PUTFH
      in.handle();
      break;
    case 25:  // READ
    case 68:  // READ_PLUS
      in.stateid();
      in.read("oc");
      break;
    case 29:  // RENAME
      in.read("nn");
      break;
    case 38:  // WRITE: the count is that of its data
      in.stateid();
      in.read("owc");
      break;
    case 59:  // ALLOCATE
    case 62:  // DEALLOCATE
      in.stateid();
      in.hyper(Kind::kOffset);
      in.hyper(Kind::kCount);
      break;
    case 69:  // SEEK
      in.stateid();
      in.hyper(Kind::kOffset);
      break;
    default:
      break;
  }
}

// Values of the attributes of a directory's entry, of which only the file handle is an item. They
// are in the order of their numbers (RFC 7530 section 5).
void nfs4_attributes(ItemReader& in) {
  constexpr std::uint32_t kFilehandle = 19;
  // Bytes of those before it; 0: of variable length.
  constexpr std::array<std::uint8_t, kFilehandle> kBytes = {0, 4, 4, 8, 8, 4, 4, 4, 16, 4,
                                                            4, 4, 0, 4, 4, 4, 4, 4, 4};
  wire::XdrReader& reader = in.reader();
  const std::uint32_t words = reader.u32();
  const std::uint32_t first = words != 0 ? reader.u32() : 0;
  if (words > 1) reader.skip(4 * (std::uint64_t{words} - 1));
  const std::uint32_t length = reader.u32();
  if (!reader.ok()) return;
  const std::size_t begin = reader.offset();
  if ((first >> kFilehandle & 1U) != 0) {
    for (std::uint32_t i = 0; i < kFilehandle; ++i) {
      if ((first >> i & 1U) == 0) continue;
      if (i == 0) {
        reader.skip(4 * std::uint64_t{reader.u32()});  // supported_attrs
      } else if (i == 12) {
        std::uint32_t entries = reader.u32();  // acl
        for (; entries != 0 && reader.ok(); --entries) {
          reader.skip(12);
          (void)reader.opaque();
        }
      } else {
        reader.skip(kBytes[i]);
      }
    }
    if (reader.offset() - begin < length) in.handle();
  }
  const std::size_t used = reader.offset() - begin;
  if (!reader.ok()) return;
  used <= wire::xdr_padded(length) ? reader.skip(wire::xdr_padded(length) - used)
                                   : reader.set_failed();
}

// The entries, and whether they are the last. Returns whether all could be read.
bool directory(ItemReader& in) {
  std::uint32_t more = in.reader().u32();
  for (; in.reader().ok() && more == 1; more = in.reader().u32()) {
    in.read("ln");  // cookie, name
    nfs4_attributes(in);
  }
  in.read("w");
  return in.reader().ok() && more == 0;
}

// Returns whether it has read the results to their end.
bool operation_results(std::uint32_t op, ItemReader& in) {
  if (in.reader().u32() != 0) return false;  // failed
  switch (op) {
    case 4:   // CLOSE
    case 12:  // LOCK
    case 14:  // LOCKU
    case 18:  // OPEN
    case 20:  // OPEN_CONFIRM
    case 21:  // OPEN_DOWNGRADE
      in.stateid();
      break;
    case 10:  // GETFH
      in.handle();
      break;
    case 25:  // READ
      in.read("wc");
      break;
    case 26:         // READDIR
      in.read("l");  // cookieverf
      return directory(in);
    case 38:  // WRITE
      in.read("c");
      break;
    default:
      break;
  }
  return false;
}

void compound_results(const ProcedureId& id, wire::Bytes results,
                      std::span<const std::uint64_t> chunk_lengths, NfsItemSink& sink) {
  CompoundReader compound(id, CompoundReader::Part::kResults, results);
  WrittenChunks chunks(chunk_lengths);
  while (const Operation* operation = compound.next()) {
    chunks.begin_operation();
    ItemReader in(results, sink, compound.offset(), compound.index());
    if (operation_results(operation->op, in)) {
      compound.go_on_at(in.reader().offset());
      continue;
    }
    compound.skip_results(*operation, chunks);
    if (chunks.roundup() != 0) compound.skip_stray_roundup(chunks.roundup());
  }
}

// Bytes that precede the data of the first chunk, or an opaque with padding.
wire::Bytes certain(wire::Bytes args, std::span<const Removed> removed) {
  for (const Removed& chunk : removed) {
    if (chunk.length != 0 && chunk.offset < args.size()) return args.first(chunk.offset);
  }
  return args;
}

}  // namespace

std::uint32_t handle_hash(wire::Bytes handle) {
  std::uint32_t crc = ~0U;
  for (; handle.size() >= 4; handle = handle.subspan(4)) {
    crc ^= __builtin_bswap32(wire::load_be32(handle.data()));
    crc = kCrcTables[3][crc & 0xff] ^ kCrcTables[2][crc >> 8 & 0xff] ^
          kCrcTables[1][crc >> 16 & 0xff] ^ kCrcTables[0][crc >> 24];
  }
  for (const std::uint8_t byte : handle) crc = kCrcTables[0][(crc ^ byte) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void find_operation_items(std::uint32_t op, wire::Bytes args, std::size_t offset,
                          std::uint32_t index, const CallReduction& reduction, NfsItemSink& sink) {
  ItemReader in(args, sink, offset, index);
  operation_arguments(op, in, reduction);
}

bool has_nfs_items(std::uint32_t program) {
  return program == kProgNfs || program == kProgMount || program == kProgNfsAcl ||
         program == kProgNlm;
}

void find_nfs_items(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed,
                    std::uint32_t padded_from, NfsItemSink& sink) {
  if (is_compound(id)) {
    if (!is_transient_program(id.program)) {
      static_cast<void>(read_compound_call(id, args, removed, padded_from, &sink));
    }
    return;
  }
  // A message may be padded from its first counted opaque on, and most begin with one.
  if (padded_from != kNotPadded) return;
  const wire::Bytes front = certain(args, removed);
  ItemReader in(front, sink);
  if (id.program == kProgMount && id.procedure == 1) {
    in.name();
  } else if (id.program == kProgNfs && id.version == 2) {
    nfs2_arguments(id.procedure, front, sink);
  } else if (id.program == kProgNfs && id.version == 3 && id.procedure < kNfs3Arguments.size()) {
    in.read(kNfs3Arguments[id.procedure]);
  } else if (id.program == kProgNfsAcl && id.procedure != 0) {
    in.read(id.version == 2 ? "H" : "h");
  } else if (id.program == kProgNlm) {
    nlm_arguments(id, in);
  }
}

void find_nfs_result_items(const ProcedureId& id, wire::Bytes results,
                           std::span<const std::uint64_t> chunk_lengths, NfsItemSink& sink) {
  if (is_compound(id)) {
    if (!is_transient_program(id.program)) compound_results(id, results, chunk_lengths, sink);
    return;
  }
  const bool mount = id.program == kProgMount && id.procedure == 1;
  if (!mount && id.program != kProgNfs) return;
  ItemReader in(results, sink);
  if (in.reader().u32() != 0) return;  // failed
  if (mount) {
    id.version == 3 ? in.handle() : in.fixed_handle();
  } else if (id.version == 3) {
    nfs3_results(id.procedure, in);
  } else if (id.version == 2 && (id.procedure == 4 || id.procedure == 9 || id.procedure == 14)) {
    in.fixed_handle();  // LOOKUP, CREATE, MKDIR
  }
}

}  // namespace rpcrdma::decode

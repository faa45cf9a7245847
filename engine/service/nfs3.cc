// XDR of NFS version 3 arguments and results, written by hand for the procedures of the probe.
#include <algorithm>

#include <rpcrdma/base/text.h>
#include <rpcrdma/service/nfs3.h>

namespace rpcrdma::service::nfs3 {

using protocol::StreamReader;
using wire::XdrWriter;

namespace {

constexpr std::uint32_t kMostName = 1024;  // bytes; servers have 255
constexpr std::uint32_t kVerifierBytes = 8;

// XDR's bool: any value but 0 and 1 is invalid, and the data after it cannot be located.
bool read_flag(StreamReader& r, bool& good) {
  const std::uint32_t flag = r.u32();
  if (flag > 1) good = false;
  return flag == 1;
}

Attributes attributes(StreamReader& r) {
  Attributes a;
  a.type = static_cast<FileType>(r.u32());
  a.mode = r.u32();
  (void)r.opaque_fixed(12);  // links, owner, group
  a.size = r.u64();
  (void)r.opaque_fixed(56);  // used, device, file system, ID, three times
  return a;
}

void skip_post_op_attributes(StreamReader& r, bool& good) {
  if (read_flag(r, good)) (void)attributes(r);
}

void skip_wcc(StreamReader& r, bool& good) {
  constexpr std::uint32_t kBefore = 24;  // size, two times
  if (read_flag(r, good)) (void)r.opaque_fixed(kBefore);
  skip_post_op_attributes(r, good);
}

std::optional<Handle> handle(StreamReader& r) {
  return make_handle(r.opaque(Handle::kMost));
}

Verifier verifier(StreamReader& r) {
  Verifier v{};
  const wire::Bytes bytes = r.opaque_fixed(kVerifierBytes);
  if (bytes.size() == v.size()) std::copy(bytes.begin(), bytes.end(), v.begin());
  return v;
}

// Reads the status, then the value by `ok` on success, or skips the rest by `failed`.
template <typename Value, typename Ok, typename Failed>
Result<Value> read(StreamReader& r, Ok&& ok, Failed&& failed) {
  bool good = true;
  Reply<Value> reply;
  reply.status = r.u32();
  if (reply.status == kOk) {
    ok(reply.value, good);
  } else {
    failed(good);
  }
  if (!good || !r.at_end()) return std::nullopt;
  return reply;
}

}  // namespace

std::optional<Handle> make_handle(wire::Bytes bytes) {
  if (bytes.empty() || bytes.size() > Handle::kMost) return std::nullopt;
  Handle h;
  std::copy(bytes.begin(), bytes.end(), h.bytes.begin());
  h.size = static_cast<std::uint32_t>(bytes.size());
  return h;
}

void put_handle(XdrWriter& w, const Handle& handle) {
  w.opaque(handle.view());
}

void put_name(XdrWriter& w, const Handle& folder, std::string_view name) {
  w.opaque(folder.view());
  w.opaque(base::as_bytes(name));
}

void put_create(XdrWriter& w, const Handle& folder, std::string_view name, std::uint32_t mode) {
  constexpr std::uint32_t kGuarded = 1;
  put_name(w, folder, name);
  w.u32(kGuarded);
  w.u32(1);  // mode is set; owner, group, size and times are not
  w.u32(mode);
  for (int i = 0; i < 5; ++i) w.u32(0);
}

void put_read(XdrWriter& w, const Handle& file, std::uint64_t offset, std::uint32_t count) {
  w.opaque(file.view());
  w.u64(offset);
  w.u32(count);
}

void put_write(XdrWriter& w, const Handle& file, std::uint64_t offset, std::uint32_t count) {
  constexpr std::uint32_t kUnstable = 0;
  put_read(w, file, offset, count);
  w.u32(kUnstable);
  w.u32(count);
}

void put_commit(XdrWriter& w, const Handle& file) {
  put_read(w, file, 0, 0);
}

void put_readdirplus(XdrWriter& w, const Handle& folder, std::uint32_t bytes) {
  w.opaque(folder.view());
  w.u64(0);  // cookie
  w.u64(0);  // its verifier
  w.u32(bytes);
  w.u32(bytes);
}

Result<Attributes> read_getattr(StreamReader& r) {
  return read<Attributes>(
      r, [&](Attributes& a, bool&) { a = attributes(r); }, [](bool&) {});
}

Result<FileSystem> read_fsinfo(StreamReader& r) {
  return read<FileSystem>(
      r,
      [&](FileSystem& fs, bool& good) {
        skip_post_op_attributes(r, good);
        fs.read_most = r.u32();
        (void)r.opaque_fixed(8);  // preferred, multiple
        fs.write_most = r.u32();
        (void)r.opaque_fixed(32);  // the same; for folders, for files, for times; properties
      },
      [&](bool& good) { skip_post_op_attributes(r, good); });
}

Result<std::optional<Handle>> read_create(StreamReader& r) {
  return read<std::optional<Handle>>(
      r,
      [&](std::optional<Handle>& made, bool& good) {
        if (read_flag(r, good)) {
          made = handle(r);
          good = good && made.has_value();
        }
        skip_post_op_attributes(r, good);
        skip_wcc(r, good);
      },
      [&](bool& good) { skip_wcc(r, good); });
}

Result<Handle> read_lookup(StreamReader& r) {
  return read<Handle>(
      r,
      [&](Handle& found, bool& good) {
        const auto h = handle(r);
        good = good && h.has_value();
        found = h.value_or(Handle());
        skip_post_op_attributes(r, good);
        skip_post_op_attributes(r, good);
      },
      [&](bool& good) { skip_post_op_attributes(r, good); });
}

Result<Written> read_write(StreamReader& r) {
  return read<Written>(
      r,
      [&](Written& w, bool& good) {
        skip_wcc(r, good);
        w.count = r.u32();
        w.stable = r.u32() != 0;
        w.verifier = verifier(r);
      },
      [&](bool& good) { skip_wcc(r, good); });
}

Result<Verifier> read_commit(StreamReader& r) {
  return read<Verifier>(
      r,
      [&](Verifier& v, bool& good) {
        skip_wcc(r, good);
        v = verifier(r);
      },
      [&](bool& good) { skip_wcc(r, good); });
}

Result<Data> read_read(StreamReader& r, std::uint32_t most) {
  return read<Data>(
      r,
      [&](Data& data, bool& good) {
        skip_post_op_attributes(r, good);
        const std::uint32_t count = r.u32();
        data.end_of_file = read_flag(r, good);
        data.bytes = r.opaque_result(most);
        good = good && data.bytes.size() == count;
      },
      [&](bool& good) { skip_post_op_attributes(r, good); });
}

Result<Listing> read_readdirplus(StreamReader& r,
                                 const std::function<void(std::string_view)>& each) {
  return read<Listing>(
      r,
      [&](Listing& listing, bool& good) {
        skip_post_op_attributes(r, good);
        (void)r.opaque_fixed(kVerifierBytes);
        while (good && r.ok() && read_flag(r, good)) {
          ++listing.entries;
          (void)r.u64();  // ID
          const wire::Bytes name = r.opaque(kMostName);
          (void)r.u64();  // cookie
          skip_post_op_attributes(r, good);
          if (read_flag(r, good)) (void)r.opaque(Handle::kMost);
          if (each && r.ok()) each(base::as_text(name));
        }
        listing.whole = read_flag(r, good);
      },
      [&](bool& good) { skip_post_op_attributes(r, good); });
}

Result<Nothing> read_remove(StreamReader& r) {
  return read<Nothing>(
      r, [&](Nothing&, bool& good) { skip_wcc(r, good); }, [&](bool& good) { skip_wcc(r, good); });
}

}  // namespace rpcrdma::service::nfs3

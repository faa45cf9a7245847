// The steps of `rpcrdma nfs-probe`: runs them on one connection, and removes the file at the end.
#include "caller.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <set>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/nfs_probe/probe.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::nfs_probe {

namespace nfs3 = service::nfs3;
using fabric::Expected;
using nfs3::Handle;
using protocol::StreamReader;

namespace {

constexpr std::uint32_t kListBytes = 32768;
constexpr std::uint32_t kMode = 0600;
// Limits to assume for any server until FSINFO reports its own.
constexpr std::uint32_t kUsualMost = 65536;
// Whatever FSINFO says, larger sizes are only tried on request: Linux's client reads and writes no
// more at once, and a server that claims 4 GiB must not make us allocate as much.
constexpr std::uint32_t kMostTried = 1U << 20;
// READ's results without data: status, attributes, count, end of file, the data's length.
constexpr std::uint32_t kReadResults = 4 + 88 + 4 + 4 + 4;
// The longest Reply of a READ without data, including an RPC-over-RDMA header without chunks.
constexpr std::uint32_t kReadReplyBytes = 28 + service::kReplyHeaderBytes + kReadResults;

std::string status_text(std::uint32_t status) {
  const char* const name = decode::nfs3_status_name(status);
  return name != nullptr ? name : fmt::format("nfsstat3 {}", status);
}

// Returns whether a CREATE that ends with this status certainly made nothing. After an error of the
// server's own, such as NFS3ERR_IO, the file may be there.
bool made_nothing(std::uint32_t status) {
  constexpr std::array<std::uint32_t, 10> kRefusals{1,  13, 17, 20, 22,
                                                    28, 30, 63, 69, 70};  // PERM ... STALE
  return std::ranges::find(kRefusals, status) != kRefusals.end();
}

// File content: differs with the size and with the offset.
std::uint8_t content(std::uint32_t size, std::uint32_t at) {
  return static_cast<std::uint8_t>((size * 2654435761U + at * 40503U) >> 8U);
}

// Describes how the messages of one Call travelled, from the requester's counters before and after.
class Way {
 public:
  explicit Way(const Caller& caller) : caller_(caller), before_(now()) {}
  [[nodiscard]] std::string text() const {
    const protocol::RequesterCounters after = now();
    if (after.long_calls != before_.long_calls) return "long Call";
    if (after.read_chunks != before_.read_chunks) return "Read chunk";
    if (after.bytes.write_chunks != before_.bytes.write_chunks) return "Write chunk";
    if (after.bytes.reply_chunks != before_.bytes.reply_chunks) return "Reply chunk";
    return "inline";
  }

 private:
  [[nodiscard]] protocol::RequesterCounters now() const {
    return caller_.client().requester(0).counters();
  }

  const Caller& caller_;
  const protocol::RequesterCounters before_;
};

class Probe {
 public:
  Probe(service::Loop& loop, const Plan& plan, const std::function<void(const Step&)>& step)
      : loop_(loop),
        plan_(plan),
        report_(step),
        may_exist_(plan.may_exist != nullptr ? *plan.may_exist : own_may_exist_),
        caller_(loop, plan.timeout) {}

  Expected<Verdict> run() {
    // The clock itself: the loop's may be from before MOUNT.
    const fabric::Time now = service::Loop::read_clock();
    run_until_ = plan_.whole < fabric::kNever - now ? now + plan_.whole : fabric::kNever;
    const auto connected = caller_.connect(plan_.client, plan_.interrupted);
    if (!connected) return tl::unexpected(connected.error());
    if (caller_.client().up() != 0) {
      all_good_ =
          or_report([this] { return look() && make_file() && write_and_read() && commit(); });
      // Always, even if it is unknown whether the file was created, and with a time of its own.
      run_until_ = fabric::kNever;
      if (may_exist_) all_good_ = or_report([this] { return remove(); }) && all_good_;
      all_good_ = or_report([this] { return look_at_server(); }) && all_good_;
    }
    all_good_ = or_report([this] {
                  caller_.disconnect();
                  return true;
                }) &&
                all_good_;
    Verdict verdict;
    verdict.good = all_good_ && !plan_.interrupted();
    verdict.interrupted = plan_.interrupted();
    verdict.left_behind = may_exist_;
    verdict.server = std::move(server_);
    return verdict;
  }

 private:
  // A step that runs out of memory counts as failed: what follows removes the file.
  template <typename Steps>
  bool or_report(Steps&& steps) {
    try {
      return steps();
    } catch (const std::bad_alloc&) {
      return recorded("memory", false, fabric::kOutOfMemory);
    }
  }

  static Caller::Call call_of(Proc proc) {
    Caller::Call call;
    call.proc = proc;
    call.most_results = nfs3::kMostResults;
    return call;
  }

  // Makes one Call; `decode` reads the results, and `say` describes them.
  template <typename Value, typename Decode, typename Say>
  bool step(const std::string& name, Caller::Call call, const Decode& decode, const Say& say) {
    std::string said;
    std::uint32_t status = nfs3::kOk;
    const Way way(caller_);
    call.results = [&](StreamReader& r) {
      const nfs3::Result<Value> result = decode(r);
      if (!result) return false;
      status = result->status;
      if (status == nfs3::kOk) said = say(result->value, way);
      return true;
    };
    const auto problem = caller_.make(call, run_until_);
    refusal_ = problem ? nfs3::kOk : status;
    if (problem) return recorded(name, false, *problem);
    if (refusal_ != nfs3::kOk) return recorded(name, false, status_text(status));
    if (failed_.empty()) return recorded(name, true, said);
    return recorded(name, false, std::exchange(failed_, {}));
  }
  // Whatever becomes of the report, the file is removed.
  bool recorded(const std::string& name, bool good, const std::string& detail) {
    try {
      report_({name, good, detail, caller_.took()});
    } catch (const std::exception&) {
      return false;
    }
    return good;
  }
  [[nodiscard]] bool goes_on() {
    if (plan_.interrupted()) return false;
    if (loop_.now() < run_until_) return true;
    return recorded(
        "time", false,
        fmt::format("all steps together took longer than {}", base::format_duration(plan_.whole)));
  }

  bool look() {
    if (!goes_on()) return false;
    const auto problem = caller_.make({}, run_until_);
    if (!recorded("NULL", !problem, problem.value_or("")) || !goes_on()) return false;
    Caller::Call call = call_of(Proc::kGetattr);
    call.arguments = [&](wire::XdrWriter& w) { nfs3::put_handle(w, plan_.folder); };
    if (!step<nfs3::Attributes>("GETATTR", call, &nfs3::read_getattr,
                                [this](const nfs3::Attributes& a, const Way&) {
                                  if (a.type != nfs3::FileType::kFolder)
                                    failed_ = "it is not a directory";
                                  return fmt::format("a directory, mode {:04o}", a.mode & 07777U);
                                })) {
      return false;
    }
    call.proc = Proc::kFsinfo;
    if (!step<nfs3::FileSystem>(
            "FSINFO", call, &nfs3::read_fsinfo, [this](const nfs3::FileSystem& fs, const Way&) {
              server_.read_most = fs.read_most;
              server_.write_most = fs.write_most;
              const bool is_more = std::min(fs.read_most, fs.write_most) > kMostTried;
              return fmt::format(
                  "READ up to {}, WRITE up to {}{}", base::format_bytes(fs.read_most),
                  base::format_bytes(fs.write_most),
                  is_more && plan_.sizes.empty()
                      ? fmt::format("; testing up to {}", base::format_bytes(kMostTried))
                      : "");
            })) {
      return false;
    }
    if (!goes_on()) return false;
    call.proc = Proc::kReaddirplus;
    call.arguments = [&](wire::XdrWriter& w) {
      nfs3::put_readdirplus(w, plan_.folder, kListBytes);
    };
    call.most_results += kListBytes;
    return step<nfs3::Listing>(
        "READDIRPLUS", call, [](StreamReader& r) { return nfs3::read_readdirplus(r); },
        [](const nfs3::Listing& list, const Way& way) {
          return fmt::format("{} entries{}, {}", list.entries, list.whole ? "" : " and more",
                             way.text());
        });
  }

  bool make_file() {
    if (!goes_on()) return false;
    Caller::Call call = call_of(Proc::kCreate);
    call.arguments = [&](wire::XdrWriter& w) {
      nfs3::put_create(w, plan_.folder, plan_.file, kMode);
    };
    may_exist_ = true;
    const std::string name = "CREATE " + plan_.file;
    std::optional<Handle> made;
    if (!step<std::optional<Handle>>(name, call, &nfs3::read_create,
                                     [&](const std::optional<Handle>& h, const Way&) {
                                       made = h;
                                       return std::string(h ? "" : "without a handle");
                                     })) {
      // A refused CREATE made nothing, and a file of that name is not ours. But after a resent
      // CREATE, or without an answer, the file may be ours.
      const bool asked_again = caller_.client().requester(0).counters().resent != 0;
      if (made_nothing(refusal_) && !asked_again) may_exist_ = false;
      return false;
    }
    if (!made) {
      call.proc = Proc::kLookup;
      call.arguments = [&](wire::XdrWriter& w) { nfs3::put_name(w, plan_.folder, plan_.file); };
      if (!step<Handle>("LOOKUP " + plan_.file, call, &nfs3::read_lookup,
                        [&](const Handle& h, const Way&) {
                          made = h;
                          return std::string();
                        })) {
        return false;
      }
    }
    file_ = *made;
    return true;
  }

  bool write_and_read() {
    const std::uint32_t read_most = server_.read_most != 0 ? server_.read_most : kUsualMost;
    const std::uint32_t write_most = server_.write_most != 0 ? server_.write_most : kUsualMost;
    std::vector<std::uint32_t> sizes = plan_.sizes;
    if (sizes.empty()) {
      const std::uint32_t call =
          caller_.call_bytes([&](wire::XdrWriter& w) { nfs3::put_write(w, file_, 0, 0); });
      sizes = default_sizes(caller_.client().info(0).thresholds, call, kReadReplyBytes,
                            std::min({read_most, write_most, kMostTried}));
    }
    for (const std::uint32_t size : sizes) {
      if (!goes_on() || !write(size) || !goes_on() || !read(size)) return false;
    }
    return true;
  }

  bool write(std::uint32_t size) {
    written_.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) written_[i] = content(size, i);
    Caller::Call call = call_of(Proc::kWrite);
    call.arguments = [&](wire::XdrWriter& w) { nfs3::put_write(w, file_, 0, size); };
    call.data = written_;
    return step<nfs3::Written>(fmt::format("WRITE {}", size), call, &nfs3::read_write,
                               [&](const nfs3::Written& w, const Way& way) {
                                 if (w.count != size)
                                   failed_ =
                                       fmt::format("{} of {} bytes were written", w.count, size);
                                 if (!verifier_) verifier_ = w.verifier;
                                 return way.text() + (w.stable ? ", committed" : "");
                               });
  }

  bool read(std::uint32_t size) {
    // Memory for a result that does not fit inline.
    const auto block = loop_.memory().acquire(std::max(size, 1U));
    if (!block) return recorded(fmt::format("READ {}", size), false, block.error().message);
    std::memset(block->data, 0x5a, block->size);
    Caller::Call call = call_of(Proc::kRead);
    call.most_results = kReadResults;
    call.arguments = [&](wire::XdrWriter& w) { nfs3::put_read(w, file_, 0, size); };
    call.space = {block->data, size, block->memory};
    const bool good = step<nfs3::Data>(
        fmt::format("READ {}", size), call,
        [&](StreamReader& r) { return nfs3::read_read(r, size); },
        [&](const nfs3::Data& data, const Way& way) {
          std::uint32_t same = 0;
          while (same < data.bytes.size() && data.bytes[same] == content(size, same)) ++same;
          if (data.bytes.size() != size) {
            failed_ = fmt::format("{} of {} bytes were read", data.bytes.size(), size);
          } else if (same != size) {
            failed_ = fmt::format("byte {} differs from what was written", same);
          }
          return way.text() + ", data verified";
        });
    loop_.memory().release(*block);
    return good;
  }

  bool commit() {
    if (!goes_on()) return false;
    Caller::Call call = call_of(Proc::kCommit);
    call.arguments = [&](wire::XdrWriter& w) { nfs3::put_commit(w, file_); };
    return step<nfs3::Verifier>("COMMIT", call, &nfs3::read_commit,
                                [this](const nfs3::Verifier& v, const Way&) {
                                  if (verifier_ && v != *verifier_) {
                                    failed_ = "the server has restarted since the WRITEs";
                                  }
                                  return std::string();
                                });
  }

  bool remove() {
    Caller::Call call = call_of(Proc::kRemove);
    call.arguments = [&](wire::XdrWriter& w) { nfs3::put_name(w, plan_.folder, plan_.file); };
    std::uint32_t status = nfs3::kOk;
    call.results = [&](StreamReader& r) {
      const auto result = nfs3::read_remove(r);
      if (result) status = result->status;
      return result.has_value();
    };
    constexpr std::uint32_t kNoEntry = 2;
    const auto problem = caller_.make(call, run_until_);
    if (problem) return recorded("REMOVE", false, *problem);
    may_exist_ = status != nfs3::kOk && status != kNoEntry;
    // A refused CREATE has made nothing, so there is nothing to remove.
    if (status == kNoEntry && file_.size == 0) return true;
    return recorded("REMOVE", status == nfs3::kOk, status == nfs3::kOk ? "" : status_text(status));
  }

  bool look_at_server() {
    const service::Client& client = caller_.client();
    server_.connection = client.info(0);
    server_.granted = client.requester(0).granted();
    server_.replies = client.requester(0).counters().replies;
    server_.invalidated = client.requester(0).counters().invalidated;
    return true;
  }

  service::Loop& loop_;
  const Plan& plan_;
  const std::function<void(const Step&)>& report_;
  std::atomic<bool> own_may_exist_{false};
  std::atomic<bool>& may_exist_;
  std::vector<std::uint8_t> written_;  // the data of WRITE, which outlives the Call
  Caller caller_;
  Handle file_;
  std::optional<nfs3::Verifier> verifier_;
  std::string failed_;                 // what is wrong with results that can be decoded
  std::uint32_t refusal_ = nfs3::kOk;  // nfsstat3 of the last step, if the server refused it
  fabric::Time run_until_ = fabric::kNever;
  bool all_good_ = false;
  Server server_;
};

}  // namespace

Expected<Verdict> probe(service::Loop& loop, const Plan& plan,
                        const std::function<void(const Step&)>& step) {
  return Probe(loop, plan, step).run();
}

std::vector<std::uint32_t> default_sizes(const service::Thresholds& thresholds, std::uint32_t call,
                                         std::uint32_t reply, std::uint32_t most) {
  std::set<std::uint32_t> sizes;
  const auto around = [&](std::uint32_t size) {
    for (const std::uint32_t s : {size - 1, size, size + 1, size + 4}) {
      if (s != 0 && s <= most) sizes.insert(s);
    }
  };
  for (std::uint32_t s = 1; s <= 4; ++s) sizes.insert(std::min(s, most));
  if (thresholds.send > call) around((thresholds.send - call) & ~3U);
  if (thresholds.receive > reply) around((thresholds.receive - reply) & ~3U);
  for (const std::uint32_t s : {1024U, 4096U, 8192U, 65536U, most}) around(s);
  return {sizes.begin(), sizes.end()};
}

}  // namespace rpcrdma::nfs_probe

// A server of NFS version 3 with the procedures that the probe needs, one directory in memory, and
// misbehaviour on request.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <rpcrdma/service/nfs3.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::nfs_probe {

using service::nfs3::Proc;

class TinyNfs : public service::Program {
 public:
  TinyNfs() : Program(service::nfs3::kProgram, service::nfs3::kVersion, "nfs", table()) {}

  std::map<std::string, std::vector<std::uint8_t>> files{{"other", {1, 2, 3}}};
  std::map<Proc, std::uint32_t> refuses;            // nfsstat3
  std::map<Proc, std::vector<std::uint32_t>> lies;  // results in place of the true ones
  Proc silent = Proc::kNull;                        // procedure that is never answered; kNull: none
  bool hides_handles = false;                       // CREATE does not return them
  bool forgets = false;                             // COMMIT returns another verifier than WRITE
  std::uint32_t short_by = 0;                       // bytes that WRITE does not write
  std::uint32_t wrong_at = UINT32_MAX;              // offset of a wrong byte in READ's data
  std::uint32_t most = 65536;                       // maximum bytes of READ and WRITE
  std::uint32_t boasts = 0;      // bytes that FSINFO claims instead; 0: the true value
  std::vector<std::string> log;  // procedures and sizes, in order of arrival

 private:
  static constexpr std::uint32_t kRoot = 1, kFile = 2;

  std::vector<service::Procedure> table() {
    std::vector<service::Procedure> all;
    const auto add = [&](Proc proc, const char* name, void (TinyNfs::*serve)(service::Call&),
                         service::Binding binding = {}) {
      all.push_back({static_cast<std::uint32_t>(proc), name,
                     [this, proc, name, serve](service::Call& call) {
                       log.emplace_back(name);
                       if (proc == silent) {
                         held_.push_back(call.defer());
                       } else if (lies.contains(proc)) {
                         // A CREATE has made the file, whatever it says.
                         if (proc == Proc::kCreate) files[this->name(call)] = {};
                         answer(call, [&](wire::XdrWriter& w) {
                           for (const std::uint32_t word : lies[proc]) w.u32(word);
                         });
                       } else if (refuses.contains(proc)) {
                         refuse(call, proc);
                       } else {
                         (this->*serve)(call);
                       }
                     },
                     binding});
    };
    add(Proc::kGetattr, "GETATTR", &TinyNfs::getattr);
    add(Proc::kLookup, "LOOKUP", &TinyNfs::lookup);
    add(Proc::kRead, "READ", &TinyNfs::read, {0, 1, 0});
    add(Proc::kWrite, "WRITE", &TinyNfs::write, {1, 0, 0});
    add(Proc::kCreate, "CREATE", &TinyNfs::create);
    add(Proc::kRemove, "REMOVE", &TinyNfs::remove);
    add(Proc::kReaddirplus, "READDIRPLUS", &TinyNfs::readdirplus);
    add(Proc::kFsinfo, "FSINFO", &TinyNfs::fsinfo);
    add(Proc::kCommit, "COMMIT", &TinyNfs::commit);
    return all;
  }

  template <typename Put>
  void answer(service::Call& call, const Put& put, protocol::Piece data = {}) {
    std::vector<std::uint8_t> bytes(65536);
    wire::XdrWriter w(bytes);
    put(w);
    const protocol::Piece pieces[] = {{{bytes.data(), w.size()}, nullptr, false}, data};
    (void)call.reply(std::span(pieces).first(data.bytes.empty() ? 1 : 2));
  }
  void refuse(service::Call& call, Proc proc) {
    answer(call, [&](wire::XdrWriter& w) {
      w.u32(refuses[proc]);
      if (proc == Proc::kGetattr) return;
      w.u32(0);
      const bool two = proc == Proc::kWrite || proc == Proc::kCreate || proc == Proc::kRemove ||
                       proc == Proc::kCommit;
      if (two) w.u32(0);
    });
  }
  static void put_words(wire::XdrWriter& w, std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words) w.u32(word);
  }
  static void put_number(wire::XdrWriter& w, std::uint32_t handle) { put_words(w, {4, handle}); }
  static std::uint32_t number(service::Call& call) {
    (void)call.arguments().u32();
    return call.arguments().u32();
  }

  void getattr(service::Call& call) {
    const std::uint32_t of = number(call);
    answer(call, [&](wire::XdrWriter& w) {
      put_words(w, {0, of == kRoot ? 2U : 1U, 0755});
      for (int i = 0; i < 19; ++i) w.u32(0);
    });
  }
  void fsinfo(service::Call& call) {
    const std::uint32_t said = boasts != 0 ? boasts : most;
    answer(call, [&](wire::XdrWriter& w) {
      put_words(w, {0, 0, said, said, 1, said, said, 1, 4096, 0, 0, 0, 0, 0});
    });
  }
  void readdirplus(service::Call& call) {
    answer(call, [&](wire::XdrWriter& w) {
      put_words(w, {0, 0, 0, 0});
      for (const auto& [name, content] : files) {
        put_words(w, {1, 0, 7});
        w.opaque({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
        put_words(w, {0, 1, 0, 0});
      }
      put_words(w, {0, 1});
    });
  }
  std::string name(service::Call& call) {
    (void)number(call);
    const auto bytes = call.arguments().opaque(255);
    return {bytes.begin(), bytes.end()};
  }
  void create(service::Call& call) {
    made_ = name(call);
    files[made_] = {};
    answer(call, [&](wire::XdrWriter& w) {
      put_words(w, {0, hides_handles ? 0U : 1U});
      if (!hides_handles) put_number(w, kFile);
      put_words(w, {0, 0, 0});
    });
  }
  void lookup(service::Call& call) {
    (void)name(call);
    answer(call, [&](wire::XdrWriter& w) {
      w.u32(0);
      put_number(w, kFile);
      put_words(w, {0, 0});
    });
  }
  void write(service::Call& call) {
    (void)number(call);
    const std::uint64_t offset = call.arguments().u64();
    (void)call.arguments().u64();  // count, stable
    const auto data = call.arguments().opaque(most);
    log.back() += " " + std::to_string(data.size());
    auto& file = files[made_];
    file.resize(std::max<std::size_t>(file.size(), offset + data.size()));
    if (!data.empty()) std::memcpy(file.data() + offset, data.data(), data.size());
    answer(call, [&](wire::XdrWriter& w) {
      put_words(w, {0, 0, 0, static_cast<std::uint32_t>(data.size()) - short_by, 0, 1, 1});
    });
  }
  void commit(service::Call& call) {
    answer(call, [&](wire::XdrWriter& w) { put_words(w, {0, 0, 0, 1, forgets ? 2U : 1U}); });
  }
  void read(service::Call& call) {
    (void)number(call);
    const std::uint64_t offset = call.arguments().u64();
    const std::uint32_t count = call.arguments().u32();
    log.back() += " " + std::to_string(count);
    const auto& file = files[made_];
    const auto bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count, file.size() - std::min<std::uint64_t>(offset, file.size())));
    const auto block = call.acquire(std::max(bytes, 1U));
    if (!block) {
      call.fail(service::CallError::kSystemError);
      return;
    }
    std::memcpy(block->data, file.data() + offset, bytes);
    if (wrong_at < bytes) block->data[wrong_at] ^= 1;
    answer(call,
           [&](wire::XdrWriter& w) {
             put_words(w, {0, 0, bytes, 1, bytes});
           },
           {{block->data, bytes}, block->memory, true});
  }
  void remove(service::Call& call) {
    const bool there = files.erase(name(call)) != 0;
    answer(call, [&](wire::XdrWriter& w) { put_words(w, {there ? 0U : 2U, 0, 0}); });
  }

  std::string made_;
  std::vector<service::Deferred> held_;
};

}  // namespace rpcrdma::nfs_probe

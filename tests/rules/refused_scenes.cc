// Scenes with Calls that RPC-over-RDMA, RPC or NFS refuses, and with probes.
#include "exchanges.h"
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

using wire::RdmaErr;

constexpr std::uint32_t kNfsAcl = 100227;
constexpr std::uint64_t kMemory = 0x7f0000000000;

// Replies of RFC 5531 section 9, word by word; nfsstat3 and nfsstat4 precede results.
Bytes words(std::initializer_list<std::uint32_t> list) {
  Xdr x;
  for (const std::uint32_t word : list) x.u32(word);
  return x.bytes();
}
Bytes prog_unavail(std::uint32_t xid) {
  return words({xid, 1, 0, 0, 0, 1});
}
Bytes prog_mismatch(std::uint32_t xid, std::uint32_t low, std::uint32_t high) {
  return words({xid, 1, 0, 0, 0, 2, low, high});
}
Bytes proc_unavail(std::uint32_t xid) {
  return words({xid, 1, 0, 0, 0, 3});
}
Bytes garbage_args(std::uint32_t xid) {
  return words({xid, 1, 0, 0, 0, 4});
}
Bytes system_err(std::uint32_t xid) {
  return words({xid, 1, 0, 0, 0, 5});
}
Bytes rpc_mismatch(std::uint32_t xid) {
  return words({xid, 1, 1, 0, 2, 2});
}
Bytes auth_error(std::uint32_t xid, std::uint32_t stat) {
  return words({xid, 1, 1, 1, stat});
}
Bytes nfs_status(std::uint32_t xid, std::uint32_t status) {
  return rpc_reply(xid, words({status, 0}));
}
// A COMPOUND that failed: status, no tag, no operations.
Bytes compound_status(std::uint32_t xid, std::uint32_t status) {
  return rpc_reply(xid, words({status, 0, 0}));
}
Bytes null_call(std::uint32_t xid, std::uint32_t program, std::uint32_t version) {
  return rpc_call(xid, program, version, 0);
}
// A COMPOUND with PUTROOTFH.
Bytes minor_call(std::uint32_t xid, std::uint32_t minor) {
  return rpc_call(xid, kNfs, 4, 1, words({0, minor, 1, 24}));
}
Bytes minor_reply(std::uint32_t xid) {
  return rpc_reply(xid, words({0, 0, 1, 24, 0}));
}

void ask(Connection& c, std::uint32_t xid, const Bytes& asked, const Bytes& answered) {
  c.call(call(xid, asked));
  c.reply(reply(xid, answered));
}

// A plain Call with this answer, between Calls that succeed.
auto refused(Message answer) {
  return [answer](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2));
    c.reply(answer);
    c.exchange(3);
  };
}
auto refused(Bytes (*answer)(std::uint32_t)) {
  return refused(reply(2, answer(2)));
}

void succeed(Scene& s) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 3; ++xid) c.exchange(xid);
}

// NFSv3 READDIRs of 8 KiB into a Reply chunk of `room` bytes.
auto listing(std::uint32_t room, bool is_refused) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    for (std::uint32_t xid = 2; xid <= 5; ++xid) {
      const wire::Segment memory{77, room, kMemory};
      if (!is_refused) {
        readdir_by_reply_chunk(c, xid, memory, 8192);
        continue;
      }
      Message m = call(xid, nfs3::readdir_call(xid, 8192));
      m.reply_chunk = Segments{memory};
      c.call(m);
      c.reply(err_chunk(xid));
    }
  };
}

// Reads with 1 Write chunk are answered, those with `chunks` are refused.
auto many_chunks(std::size_t chunks) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    read_by_write_chunk(c, 1, {{76, 1000, kMemory}}, 1000);
    if (chunks == 1) return read_by_write_chunk(c, 2, {{77, 1000, kMemory}}, 1000);
    Message m = call(2, nfs3::read_call(2, 1000));
    for (std::uint32_t i = 0; i < chunks; ++i) {
      m.writes.push_back({{77 + i, 1000, kMemory + 0x1000 * i}});
    }
    c.call(m);
    c.reply(err_chunk(2));
  };
}

RuleScene refusal(const char* variant, std::function<void(Scene&)> breaks) {
  return {.rule = "CALL-REFUSED",
          .guilty = Guilty::kNobody,
          .breaks = std::move(breaks),
          .keeps = succeed,
          .variant = variant};
}

void add_transport_refusals(Scenes& scenes) {
  scenes.push_back({.rule = "CALL-REFUSED",
                    .guilty = Guilty::kNobody,
                    .breaks = listing(512, true),
                    .keeps = listing(16384, false)});
  scenes.push_back({.rule = "CALL-REFUSED",
                    .guilty = Guilty::kNobody,
                    .breaks = many_chunks(5),
                    .keeps = many_chunks(1),
                    .variant = "write-chunks"});
  // The requester tries nothing else.
  scenes.push_back(refusal("version", [](Scene& s) {
    Connection& c = s.connect();
    c.call(version2(call(1)));
    c.reply(err_vers(1));
    c.disconnect();
  }));
  scenes.push_back(refusal("cant-reply", [](Scene& s) {
    Connection& c = s.connect();
    c.call(version2(call(1)));
    c.reply(version2(reply(1)));
    Message m = version2(call(2, nfs3::readdir_call(2, 8192)));
    m.reply_chunk = Segments{{77, 512, kMemory}};
    c.call(m);
    Message error = version2(err_chunk(2));
    error.error = RdmaErr::kCantReply;
    error.segment_index = 1;
    error.length_needed = 8300;
    c.reply(error);
  }));
}

void add_rpc_refusals(Scenes& scenes) {
  scenes.push_back(refusal("program", refused(prog_unavail)));
  scenes.push_back(refusal("procedure", refused(proc_unavail)));
  scenes.push_back(refusal("arguments", refused(garbage_args)));
  scenes.push_back(refusal("system", refused(system_err)));
  scenes.push_back(refusal("rpc-version", refused(rpc_mismatch)));
  // AUTH_TOOWEAK, whatever else succeeds.
  scenes.push_back(refusal("authentication", [](Scene& s) {
    Connection& c = s.connect();
    ask(c, 1, null_call(1, kNfs, 3), rpc_reply(1));
    ask(c, 2, nfs3::getattr_call(2), auth_error(2, 5));
  }));
  scenes.push_back(refusal("program-version", [](Scene& s) {
    Connection& c = s.connect();
    ask(c, 1, null_call(1, kNfs, 4), prog_mismatch(1, 3, 3));
    c.disconnect();
  }));
  scenes.push_back(refusal("minor-version", [](Scene& s) {
    Connection& c = s.connect();
    ask(c, 1, minor_call(1, 2), compound_status(1, 10021));
    c.disconnect();
  }));
  // Too many refusals for a probe, whatever succeeds later.
  scenes.push_back(refusal("insists", [](Scene& s) {
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 9; ++xid) {
      ask(c, xid, null_call(xid, kNfs, 4), prog_mismatch(xid, 3, 3));
    }
    ask(c, 10, nfs3::getattr_call(10), nfs3::getattr_reply(10));
  }));
  // The client refuses a Call of the server.
  scenes.push_back(refusal("reverse", [](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    ask(c, 2, nfs4::create_session_call(2), nfs4::create_session_reply(2));
    c.send(kServer, call(1, nfs4::callback_call(1)));
    c.send(kClient, reply(1, prog_unavail(1)));
  }));
}

RuleScene probe(const char* variant, std::function<void(Scene&)> tries,
                std::function<void(Scene&)> knows) {
  return {.rule = "PROBE",
          .guilty = Guilty::kNobody,
          .breaks = std::move(tries),
          .keeps = std::move(knows),
          .variant = variant};
}

void add_probes(Scenes& scenes) {
  scenes.push_back(probe(
      "",
      [](Scene& s) {
        Connection& c = s.connect();
        c.call(version2(call(1)));
        c.reply(err_vers(1));
        c.exchange(2);
      },
      succeed));
  // The next mount uses another connection.
  const auto mount = [](bool tries) {
    return [tries](Scene& s) {
      if (tries) {
        Connection& first = s.connect();
        ask(first, 1, null_call(1, kNfs, 4), prog_mismatch(1, 3, 3));
        first.disconnect();
      }
      Connection& second = s.connect();
      ask(second, 1, null_call(1, kNfs, 3), rpc_reply(1));
    };
  };
  scenes.push_back(probe("program-version", mount(true), mount(false)));
  const auto mount4 = [](bool tries) {
    return [tries](Scene& s) {
      if (tries) {
        Connection& first = s.connect();
        ask(first, 1, minor_call(1, 2), compound_status(1, 10021));
        first.disconnect();
      }
      Connection& second = s.connect();
      ask(second, 2, minor_call(2, 1), minor_reply(2));
    };
  };
  scenes.push_back(probe("minor-version", mount4(true), mount4(false)));
  const auto acl = [](bool tries) {
    return [tries](Scene& s) {
      Connection& c = s.connect();
      if (tries) ask(c, 1, rpc_call(1, kNfsAcl, 3, 1, words({0, 0})), prog_unavail(1));
      ask(c, 2, nfs3::getattr_call(2), nfs3::getattr_reply(2));
    };
  };
  scenes.push_back(probe("acl", acl(true), acl(false)));
  const auto flavor = [](bool tries) {
    return [tries](Scene& s) {
      Connection& c = s.connect();
      if (tries) ask(c, 1, nfs3::getattr_call(1), auth_error(1, 5));
      ask(c, 2, nfs3::getattr_call(2), nfs3::getattr_reply(2));
    };
  };
  scenes.push_back(probe("flavor", flavor(true), flavor(false)));
}

// Five GETATTRs, of which `failed` end with `status`.
auto getattrs(std::uint32_t status, std::uint32_t failed) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 5; ++xid) {
      ask(c, xid, nfs3::getattr_call(xid),
          xid <= failed ? nfs_status(xid, status) : nfs3::getattr_reply(xid));
    }
  };
}
auto getattrs4(std::uint32_t status) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 5; ++xid) {
      ask(c, xid, nfs4::getattr_call(xid), compound_status(xid, status));
    }
  };
}

void add_statuses(Scenes& scenes) {
  constexpr std::uint32_t kNoent = 2, kIo = 5, kStale = 70, kDelay = 10008;
  const auto status = [&](const char* variant, auto breaks, auto keeps) {
    scenes.push_back({.rule = "NFS-STATUS",
                      .guilty = Guilty::kNobody,
                      .breaks = breaks,
                      .keeps = keeps,
                      .variant = variant});
  };
  status("", getattrs(kStale, 5), getattrs(kStale, 1));
  status("io", getattrs4(kIo), getattrs4(kNoent));
  status("some", getattrs(kIo, 3), getattrs(kDelay, 5));
}

}  // namespace

void add_refused_scenes(Scenes& scenes) {
  add_transport_refusals(scenes);
  add_rpc_refusals(scenes);
  add_probes(scenes);
  add_statuses(scenes);
}

}  // namespace rpcrdma::scenes

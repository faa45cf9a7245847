// A report with content for every part of a page or table.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// `text` is used wherever a report contains text from a capture or from a JSON file.
inline Report report_with(const std::string& text) {
  constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
  Report r;
  r.capture.files = 1;
  r.capture.frames = 100;
  r.capture.first_ns = kStart;
  r.capture.last_ns = kStart + 2'000'000'000;
  r.capture.damage = text;
  r.capture.packets.roce = 90;
  r.messages.kinds[0] = 2;
  r.messages.kinds[1] = 1;
  Connection c;
  c.id = 1;
  c.speaks = model::Speaks::kRpc;
  c.version = 1;
  c.side[0].address = text;
  c.side[0].qpn = 17;
  c.side[1].address = "10.0.0.1";
  c.state = roce::State::kRejected;
  c.reject_reason = text;
  c.direction[0].calls = 2;
  c.direction[0].replies = 1;
  c.direction[0].unmatched_calls = 1;
  c.direction[0].requested = c.direction[0].requested_max = 128;
  c.direction[0].granted = c.direction[0].granted_min = c.direction[0].granted_max = 64;
  c.direction[0].in_use_max = 2;
  c.side[1].counters.retransmitted = 3;
  r.connections.push_back(c);
  r.connection_ids = 1;
  mounts::Mount mount;
  mount.version = 4;
  mount.minor = 1;
  mount.client = mount.server = mount.session = mount.client_owner = mount.server_owner = text;
  mount.calls = mount.replies = 2;
  mount.connections.emplace_back().id = 1;
  mount.connections[0].credits_granted = 64;
  mount.slots = 30;
  mount.slots_in_use_max = 2;
  mount.backchannel.callbacks = 1;
  mount.backchannel.last = mounts::Callback{7, kStart, text, text};
  mount.exports.push_back({text});
  mount.layouts.granted = 1;
  mount.layouts.last_refusal = text;
  mount.layouts.refused = 1;
  mounts::DataServer& data_server = mount.layouts.servers.emplace_back();
  data_server.netid = data_server.address = text;
  r.mounts.list.push_back(mount);
  ConnectionCredits credits;
  credits.connection = 1;
  credits.direction[0].at(kStart).request(128, 1);
  credits.direction[0].at(kStart).grant(64);
  credits.direction[0].at(kStart + 1'000'000'000).request(128, 2);
  r.credits.push_back(credits);
  r.traffic.at(kStart).calls = 2;
  r.traffic.at(kStart).read_bytes = 4096;
  r.traffic.at(kStart).retransmitted = 3;
  r.traffic.at(kStart + 1'000'000'000).add_latency(3'000'000);
  Procedure& p = r.procedures[ProcedureKey{100003, 3, 7, UINT32_MAX, false}];
  p.label = text;
  p.calls = 2;
  p.replies = 1;
  p.bytes[0] = 4096;
  p.total.add(3'000'000);
  const ProcedureKey key = r.procedures.begin()->first;
  ConnectionLatency& latency = r.latencies.connections.emplace_back();
  latency.connection = 1;
  latency.direction[0].add(key, 3'000'000);
  latency.series.at(kStart + 1'000'000'000).add(3'000'000);
  r.latencies.sizes[0][0].add(3'000'000);
  r.latencies.series(key)->at(kStart + 1'000'000'000).add(3'000'000);
  SlowCall slow;
  slow.latency_ns = 3'000'000;
  slow.frame = 5;
  slow.reply_frame = 9;
  slow.time_ns = kStart;
  slow.connection = 1;
  slow.label = text;
  r.slowest.offer(slow);
  p.slowest.offer(slow);
  FileStats& file = r.files.list[FileKey{text, 0x1a2b3c4d}];
  file.name = text;
  file.writes = 2;
  file.written_bytes = 4096;
  file.note_size(4096);
  file.latency.add(3'000'000);
  file.first_ns = file.last_ns = kStart;
  Finding f;
  f.rule = "FC-01";
  f.severity = rules::Severity::kError;
  f.peer = text;
  f.role = text;
  f.connection = 1;
  f.frames = {5, 9};
  f.count = 3;
  f.text = text;
  f.advice = text;
  r.findings.push_back(f);
  Inconclusive w;
  w.rule = text;
  w.connection = 1;
  w.count = 2;
  w.reason = text;
  r.inconclusive.push_back(w);
  return r;
}

}  // namespace rpcrdma::report

#include "capture_quality.h"
#include "html.h"
#include "importance.h"
#include "text/recording_text.h"

#include <fmt/core.h>

#include <rpcrdma/wire/roce.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;

// Adds a count to a list of facts unless it is zero.
void fact(std::string& list, const char* name, std::uint64_t n, const char* what) {
  if (n == 0) return;
  list += fmt::format("<div><dt>{}</dt><dd>{} {}</dd></div>\n", name, n, what);
}

}  // namespace

std::string packets(const Report& r) {
  Table table("Packet errors");
  table.column("Connection", Align::kRight)
      .column("Sent by", Align::kLeft)
      .column("Packets", Align::kRight)
      .column("Retransmitted", Align::kRight)
      .column("Lost in the network", Align::kRight)
      .column("Missing from the capture", Align::kRight)
      .column("Out of order", Align::kRight)
      .column("RNR NAKs", Align::kRight)
      .column("Marked CE", Align::kRight)
      .column("CNPs", Align::kRight)
      .column("NAKs", Align::kLeft);
  constexpr std::size_t kMostRows = 100;
  std::size_t rows = 0;
  std::size_t more = 0;
  for (const Connection* c : important_connections(r, kMostConnections)) {
    for (std::size_t s = 0; s < 2; ++s) {
      const roce::SideCounters& k = c->side[s].counters;
      std::string naks;
      for (std::size_t n = 0; n < k.naks.size(); ++n) {
        if (k.naks[n] == 0) continue;
        naks += fmt::format("{}{} {}", naks.empty() ? "" : ", ", k.naks[n],
                            wire::nak_name(static_cast<std::uint8_t>(n)));
      }
      if (naks.empty() &&
          k.retransmitted + k.lost_network + k.lost_capture + k.reordered + k.rnr + k.ce + k.cnps ==
              0) {
        continue;
      }
      if (++rows > kMostRows) {
        ++more;
        continue;
      }
      table.row();
      table.markup(fmt::format("<a href=\"#c{}\">{}</a>", c->id, c->id));
      table.cell(fmt::format("the {} {}", s == 0 ? "client" : "server", c->side[s].address));
      for (const std::uint64_t n : {k.packets, k.retransmitted, k.lost_network, k.lost_capture,
                                    k.reordered, k.rnr, k.ce, k.cnps}) {
        table.count(n);
      }
      table.cell(naks);
    }
  }
  std::string body = table.take();
  if (body.empty()) body = "<p>No packet was lost, retransmitted or refused.</p>\n";
  if (more != 0) body += aside(fmt::format("And {} more.", more));
  if (const std::string paused = rules::paused_text(r.capture.pauses); !paused.empty()) {
    body += aside(plot::escape_xml(paused));
  }
  return section("packets", "Packets", body);
}

std::string capture_quality(const Report& r) {
  const CaptureSummary& c = r.capture;
  const roce::PacketStats& p = c.packets;
  std::string list;
  for (const QualityLine& line : quality_lines(r)) {
    list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", line.name, text(line.text));
  }
  fact(list, "fragments", c.fragments, "IP fragments to the RoCE port, which RoCE forbids");
  fact(list, "malformed", p.malformed, "invalid transport headers");
  const bool events_alone = c.events != 0 && p.roce + p.iwarp == 0;
  std::string body =
      list.empty()
          ? fmt::format("<p>Complete: none of {} {} is missing, truncated or damaged.</p>\n",
                        events_alone ? c.events : p.roce + p.iwarp,
                        events_alone ? "events" : "packets")
          : fmt::format("<dl class=\"quality\">\n{}</dl>\n", list);
  if (!r.inconclusive.empty()) {
    Table table("Inconclusive checks");
    table.column("Rule", Align::kLeft)
        .column("Connection", Align::kRight)
        .column("Times", Align::kRight)
        .column("Reason", Align::kLeft);
    constexpr std::size_t kMostInconclusive = 100;
    for (std::size_t i = 0; i < std::min(r.inconclusive.size(), kMostInconclusive); ++i) {
      const Inconclusive& w = r.inconclusive[i];
      table.row();
      table.cell(w.rule);
      table.count(w.connection);
      table.count(w.count);
      table.cell(w.reason);
    }
    body +=
        "<details><summary>Inconclusive checks, by rule and connection</summary>\n" + table.take();
    if (r.inconclusive.size() > kMostInconclusive) {
      body += aside(fmt::format("And {} more.", r.inconclusive.size() - kMostInconclusive));
    }
    body += "</details>\n";
  }
  return section("capture-quality", "Capture quality", body);
}

std::string recording(const Report& r) {
  if (!r.recording.any()) return {};
  std::string list;
  for (const RecordingLine& line : recording_lines(r.recording)) {
    list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", line.name, text(line.text));
  }
  return section("recording", "Recording", fmt::format("<dl class=\"quality\">\n{}</dl>\n", list));
}

}  // namespace rpcrdma::report::html

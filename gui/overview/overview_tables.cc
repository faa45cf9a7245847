// Fills the tables of the overview.
#include "cards.h"
#include "overview_page.h"
#include "words.h"

#include <algorithm>

namespace rpcrdma::gui {

namespace {

double share(std::uint64_t n, std::uint64_t most) {
  return n == 0 || most == 0 ? -1 : static_cast<double>(n) / static_cast<double>(most);
}

}  // namespace

void OverviewPage::show_tables() {
  using Cell = BarTable::Cell;
  using Rows = std::vector<std::vector<Cell>>;
  const auto fill = [](Section& s, const Rows& rows, std::uint64_t more) {
    s.table->set_rows(rows);
    s.box->setVisible(!rows.empty());
    s.more->setText(tr("and %L1 more").arg(more));
    s.more->setVisible(more != 0);
  };
  Rows rows;
  std::array<std::uint64_t, 3> most{};
  std::int64_t longest = 0;
  for (const OverviewConnection& c : model_.connections) {
    most[0] = std::max(most[0], c.calls);
    most[1] = std::max(most[1], c.unanswered);
    most[2] = std::max(most[2], c.retransmitted);
    longest = std::max(longest, c.max_ns);
  }
  for (const OverviewConnection& c : model_.connections) {
    const auto bar = [&](std::int64_t ns) {
      return share(static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns)),
                   static_cast<std::uint64_t>(longest));
    };
    QStringList found;
    if (c.findings[0] != 0) {
      found << (c.findings[0] == 1 ? tr("1 error") : tr("%L1 errors").arg(c.findings[0]));
    }
    if (c.findings[1] != 0) {
      found << (c.findings[1] == 1 ? tr("1 warning") : tr("%L1 warnings").arg(c.findings[1]));
    }
    Cell findings{.text = found.join(", ")};
    if (c.findings[0] != 0) findings.sign = Sign::kError;
    if (c.findings[0] == 0 && c.findings[1] != 0) findings.sign = Sign::kWarning;
    rows.push_back(
        {{.text = QString::number(c.id), .right = true},
         {.text = c.ends},
         {.text = c.state},
         findings,
         {.text = Words::count(c.calls), .bar = share(c.calls, most[0]), .right = true},
         {.text = Words::duration(c.p99_ns), .bar = bar(c.p99_ns), .right = true},
         {.text = Words::duration(c.max_ns), .bar = bar(c.max_ns), .right = true},
         {.text = Words::count(c.unanswered), .bar = share(c.unanswered, most[1]), .right = true},
         {.text = c.retransmissions_seen ? Words::count(c.retransmitted) : tr("not seen"),
          .bar = share(c.retransmitted, most[2]),
          .right = true}});
  }
  fill(connections_, rows, model_.more_connections);
  rows.clear();
  const std::int64_t slow = model_.slowest.empty() ? 0 : model_.slowest.front().latency_ns;
  for (const OverviewSlowCall& s : model_.slowest) {
    rows.push_back(
        {{.text = s.procedure},
         {.text = Words::duration(s.latency_ns),
          .bar = share(static_cast<std::uint64_t>(std::max<std::int64_t>(0, s.latency_ns)),
                       static_cast<std::uint64_t>(slow)),
          .right = true},
         {.text = time(s.time_ns), .right = true},
         {.text = QString::number(s.connection), .right = true},
         {.text = s.longest}});
  }
  slowest_.title->setText(model_.observer.isEmpty() ? tr("Slowest Calls")
                                                    : tr("Slowest Calls, %1").arg(model_.observer));
  fill(slowest_, rows, 0);
  rows.clear();
  for (const OverviewFile& f : model_.files) {
    rows.push_back(
        {{.text = f.name, .tip = tr("%1 on %2").arg(f.name, f.server)},
         {.text = Words::count(f.reads), .right = true},
         {.text = Words::count(f.writes), .right = true},
         {.text = Words::count(f.other), .right = true},
         {.text = f.read_bytes == 0 ? QString() : Words::bytes(f.read_bytes), .right = true},
         {.text = f.written_bytes == 0 ? QString() : Words::bytes(f.written_bytes), .right = true},
         {.text = Words::duration(f.max_ns), .right = true},
         {.text = f.pattern},
         {.text = f.errors == 0 ? QString() : Words::count(f.errors), .right = true}});
  }
  fill(files_, rows, model_.more_files);
  rows.clear();
  for (const OverviewMount& m : model_.mounts) {
    rows.push_back({{.text = m.name},
                    {.text = Words::count(m.calls), .right = true},
                    {.text = m.connections},
                    {.text = m.limit},
                    {.text = m.backchannel}});
  }
  fill(mounts_, rows, model_.more_mounts);
  congestion_->setText(tr("Congestion: %1").arg(model_.congestion));
  congestion_->setVisible(!model_.congestion.isEmpty());
}

}  // namespace rpcrdma::gui

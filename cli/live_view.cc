#include "live_view.h"

#include "colour.h"
#include "finding_line.h"

#include <cstdio>

#include <fmt/format.h>

namespace rpcrdma::cli {

LiveView::LiveView(std::unique_ptr<MessagePrinter> printer, const PrintOptions& options)
    : json_(options.json),
      colour_(colour_wanted(stdout)),
      printer_(std::move(printer)),
      findings_({rules::Profile::k8166, [this](const rules::Occurrence& found) { show(found); }}),
      checker_(findings_),
      both_(*printer_, checker_),
      pipeline_(both_, options.keep()),
      context_{&pipeline_.tracker(), &pipeline_.model()} {
  printer_->set_pipeline(pipeline_);
  checker_.attach(pipeline_.tracker(), pipeline_.model());
}

void LiveView::show(const rules::Occurrence& found) const {
  // What known implementations do on purpose would be most of what scrolls by; `analyze` has it.
  if (found.severity == rules::Severity::kNote) return;
  const std::string text =
      json_ ? finding_json(found, context_) : finding_line(found, context_, colour_);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void LiveView::finish(std::uint64_t dropped) {
  pipeline_.finish();
  printer_->flush();
  if (dropped != 0) {
    findings_.add(rules::RuleId::kCapture, {},
                  [&] { return fmt::format("{} packets were dropped while capturing", dropped); });
  }
  checker_.finish();
  std::fflush(stdout);
}

}  // namespace rpcrdma::cli

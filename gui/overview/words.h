// How the overview and the comparison write values.
#pragma once

#include <QCoreApplication>
#include <QString>
#include <cstdint>
#include <string>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

class Words {
  Q_DECLARE_TR_FUNCTIONS(rpcrdma::gui::Overview)

 public:
  // Text of unknown origin.
  [[nodiscard]] static QString plain(const std::string& text) {
    return one_line(QString::fromStdString(text));
  }
  // "12.3 ms"; "-" if negative: not known.
  [[nodiscard]] static QString duration(std::int64_t ns) {
    return ns < 0 ? QStringLiteral("-") : QString::fromStdString(report::format_duration(ns));
  }
  [[nodiscard]] static QString bytes(std::uint64_t n) {
    return QString::fromStdString(report::format_bytes(n));
  }
  [[nodiscard]] static QString count(std::uint64_t n) { return QString("%L1").arg(n); }
};

}  // namespace rpcrdma::gui

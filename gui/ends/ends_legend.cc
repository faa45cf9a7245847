#include "ends_legend.h"

#include "ends_words.h"

#include <QCoreApplication>
#include <QPainter>

namespace rpcrdma::gui {

namespace {

constexpr int kSquareGap = 5;
constexpr int kEntryGap = 14;

struct LegendEntry {
  QString text;
  QColor fill;
  QColor frame = {};     // invalid: none
  bool hatched = false;  // in the colour of the frame
};

std::vector<LegendEntry> legend_entries(const QPalette& palette) {
  const auto say = [](const char* text) {
    return QCoreApplication::translate("rpcrdma::gui::Ends", text);
  };
  std::vector<LegendEntry> all;
  for (const auto side : {ends::Side::kClient, ends::Side::kNetwork, ends::Side::kServer}) {
    all.push_back({side_name(side), ink(palette, side_ink(side))});
  }
  all.push_back({say("waiting"), stage_colour(palette, ends::Stage::kCredit),
                 ink(palette, side_ink(ends::Side::kClient))});
  const QColor grey = secondary_text(palette);
  all.push_back({say("not known"), tint(palette, grey, 0.12), tint(palette, grey, 0.6), true});
  return all;
}

}  // namespace

EndsLegend::EndsLegend(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize EndsLegend::sizeHint() const {
  const QFontMetrics metrics = fontMetrics();
  const int square = metrics.height() - 4;
  int wide = 0;
  for (const LegendEntry& e : legend_entries(palette())) {
    wide += square + kSquareGap + metrics.horizontalAdvance(e.text) + kEntryGap;
  }
  return {wide, metrics.height() + 4};
}

void EndsLegend::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  const QFontMetrics metrics = fontMetrics();
  const int square = metrics.height() - 4;
  int x = 0;
  for (const LegendEntry& e : legend_entries(palette())) {
    const QRect box(x, (height() - square) / 2, square, square);
    painter.fillRect(box, e.fill);
    if (e.hatched) painter.fillRect(box, QBrush(e.frame, Qt::BDiagPattern));
    if (e.frame.isValid()) {
      painter.setPen(e.frame);
      painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    x += square + kSquareGap;
    const int wide = metrics.horizontalAdvance(e.text);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(x, 0, wide + 2, height()), Qt::AlignVCenter, e.text);
    x += wide + kEntryGap;
  }
}

}  // namespace rpcrdma::gui

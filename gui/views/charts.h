// What all charts of Qt Charts here have in common.
#pragma once

#include <QChart>
#include <QChartView>
#include <QPalette>
#include <QValueAxis>

namespace rpcrdma::gui {

// Colours of the window, small margins, no legend's frame.
void dress(QChart& chart, const QPalette& palette);
[[nodiscard]] QChartView* make_chart(const QString& title, const QString& name, QWidget* parent);
// Ticks at 1, 2 or 5 times a power of ten; at most `most` and one.
void set_ticks(QValueAxis& axis, int most);
// Throws away series and axes.
void clear_chart(QChart& chart);

}  // namespace rpcrdma::gui

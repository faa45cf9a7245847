// Settings that all charts made with Qt Charts share.
#pragma once

#include <QChart>
#include <QChartView>
#include <QPalette>
#include <QValueAxis>

namespace rpcrdma::gui {

// Applies the window's colours and small margins, and removes the legend's frame.
void dress(QChart& chart, const QPalette& palette);
[[nodiscard]] QChartView* make_chart(const QString& title, const QString& name, QWidget* parent);
// Sets ticks at 1, 2 or 5 times a power of ten; at most `most` + 1.
void set_ticks(QValueAxis& axis, int most);
// Removes series and axes.
void clear_chart(QChart& chart);

}  // namespace rpcrdma::gui

// What all charts of Qt Charts here have in common.
#pragma once

#include <QChart>
#include <QChartView>
#include <QPalette>

namespace rpcrdma::gui {

// Colours of the window, small margins, no legend's frame.
void dress(QChart& chart, const QPalette& palette);
[[nodiscard]] QChartView* make_chart(const QString& title, const QString& name, QWidget* parent);
// Throws away series and axes.
void clear_chart(QChart& chart);

}  // namespace rpcrdma::gui

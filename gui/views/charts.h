// Settings that all charts made with Qt Charts share.
#pragma once

#include <QCategoryAxis>
#include <QChart>
#include <QChartView>
#include <QPalette>
#include <QValueAxis>

#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

// Applies the window's colours and small margins, and removes the legend's frame.
void dress(QChart& chart, const QPalette& palette);
[[nodiscard]] QChartView* make_chart(const QString& title, const QString& name, QWidget* parent);
// Sets ticks at 1, 2 or 5 times a power of ten; at most `most` + 1.
void set_ticks(QValueAxis& axis, int most);
// An axis of a range of time; its values are seconds since `from_ns`. `width`: of the chart,
// pixels.
[[nodiscard]] QCategoryAxis* make_time_axis(std::int64_t from_ns, std::int64_t to_ns,
                                            const TimeNotation& notation, int width,
                                            const QFontMetrics& metrics);
// Removes series and axes.
void clear_chart(QChart& chart);

}  // namespace rpcrdma::gui

#include "app_style.h"

#include <QDockWidget>
#include <QHeaderView>
#include <QPainter>
#include <QStyleOption>
#include <QTableView>

#include <rpcrdma/views/style.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kUnderline = 3;  // of the current tab, pixels

QColor hover(const QPalette& palette) {
  QColor colour = palette.color(QPalette::WindowText);
  colour.setAlphaF(0.07F);
  return colour;
}

bool is_upright(const QStyleOptionTab& tab) {
  switch (tab.shape) {
    case QTabBar::RoundedEast:
    case QTabBar::RoundedWest:
    case QTabBar::TriangularEast:
    case QTabBar::TriangularWest:
      return true;
    default:
      return false;
  }
}

// The side of a tab that lies at its page.
QRect underline_of(const QStyleOptionTab& tab) {
  const QRect& r = tab.rect;
  switch (tab.shape) {
    case QTabBar::RoundedSouth:
    case QTabBar::TriangularSouth:
      return {r.left(), r.top(), r.width(), kUnderline};
    case QTabBar::RoundedWest:
    case QTabBar::TriangularWest:
      return {r.right() - kUnderline + 1, r.top(), kUnderline, r.height()};
    case QTabBar::RoundedEast:
    case QTabBar::TriangularEast:
      return {r.left(), r.top(), kUnderline, r.height()};
    default:
      return {r.left(), r.bottom() - kUnderline + 1, r.width(), kUnderline};
  }
}

void draw_tab(const QStyleOptionTab& tab, QPainter& painter) {
  const bool current = (tab.state & QStyle::State_Selected) != 0;
  const bool under = (tab.state & QStyle::State_MouseOver) != 0;
  if (!current && under) painter.fillRect(tab.rect, hover(tab.palette));
  if (current) painter.fillRect(underline_of(tab), tab.palette.color(QPalette::Highlight));
  if ((tab.state & QStyle::State_HasFocus) != 0) {
    painter.setPen(QPen(tab.palette.color(QPalette::Highlight), 2));
    painter.drawRect(tab.rect.adjusted(2, 2, -2, -2));
  }
}

void draw_header(const QStyleOptionHeader& header, QPainter& painter) {
  painter.fillRect(header.rect, header.palette.color(QPalette::Window));
  if ((header.state & QStyle::State_MouseOver) != 0 &&
      (header.state & QStyle::State_Enabled) != 0) {
    painter.fillRect(header.rect, hover(header.palette));
  }
  painter.setPen(header.palette.color(QPalette::Mid));
  painter.drawLine(header.rect.bottomLeft(), header.rect.bottomRight());
  const int third = header.rect.height() / 4;
  painter.drawLine(header.rect.topRight() + QPoint(0, third),
                   header.rect.bottomRight() - QPoint(0, third));
}

}  // namespace

void fit_rows(QTableView& table, const QFontMetrics& metrics) {
  const int height = row_height_of(metrics);
  QHeaderView* const rows = table.verticalHeader();
  rows->setMinimumSectionSize(std::min(rows->minimumSectionSize(), height));
  rows->setDefaultSectionSize(height);
}

void AppStyle::polish(QWidget* widget) {
  QProxyStyle::polish(widget);
  if (auto* const table = qobject_cast<QTableView*>(widget)) fit_rows(*table, table->fontMetrics());
  auto* const header = qobject_cast<QHeaderView*>(widget);
  if (header != nullptr && header->orientation() == Qt::Horizontal) {
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  }
}

void AppStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                           const QWidget* widget) const {
  switch (element) {
    case CE_TabBarTabShape:
      if (const auto* const tab = qstyleoption_cast<const QStyleOptionTab*>(option)) {
        painter->save();
        draw_tab(*tab, *painter);
        painter->restore();
        return;
      }
      break;
    case CE_TabBarTabLabel:
      if (const auto* const tab = qstyleoption_cast<const QStyleOptionTab*>(option)) {
        QStyleOptionTab quiet(*tab);
        quiet.state &= ~State_HasFocus;  // draw_tab() shows it
        if ((tab->state & (State_Selected | State_MouseOver)) == 0 &&
            (tab->state & State_Enabled) != 0) {
          quiet.palette.setColor(QPalette::WindowText, secondary_text(tab->palette));
        }
        return QProxyStyle::drawControl(element, &quiet, painter, widget);
      }
      break;
    case CE_HeaderSection:
      if (const auto* const header = qstyleoption_cast<const QStyleOptionHeader*>(option)) {
        painter->save();
        draw_header(*header, *painter);
        painter->restore();
        return;
      }
      break;
    case CE_HeaderEmptyArea:
    case CE_ToolBar:
      painter->fillRect(option->rect, option->palette.color(QPalette::Window));
      painter->save();
      painter->setPen(option->palette.color(QPalette::Mid));
      painter->drawLine(option->rect.bottomLeft(), option->rect.bottomRight());
      painter->restore();
      return;
    case CE_DockWidgetTitle:
      if (const auto* const dock = qstyleoption_cast<const QStyleOptionDockWidget*>(option)) {
        painter->save();
        const QRect text = subElementRect(SE_DockWidgetTitleBarText, option, widget);
        QFont font = painter->font();
        font.setWeight(QFont::DemiBold);
        painter->setFont(font);
        painter->setPen(secondary_text(dock->palette));
        painter->drawText(
            text.adjusted(kGap / 2, 0, 0, 0), static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft),
            QFontMetrics(font).elidedText(dock->title, Qt::ElideRight, text.width() - kGap / 2));
        painter->restore();
        return;
      }
      break;
    default:
      break;
  }
  QProxyStyle::drawControl(element, option, painter, widget);
}

void AppStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                             QPainter* painter, const QWidget* widget) const {
  if (element == PE_FrameTabBarBase) {
    const auto* const base = qstyleoption_cast<const QStyleOptionTabBarBase*>(option);
    if (base != nullptr) {
      painter->save();
      painter->setPen(base->palette.color(QPalette::Mid));
      const QRect& r = base->rect;
      const bool south =
          base->shape == QTabBar::RoundedSouth || base->shape == QTabBar::TriangularSouth;
      painter->drawLine(south ? r.topLeft() : r.bottomLeft(),
                        south ? r.topRight() : r.bottomRight());
      painter->restore();
      return;
    }
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

int AppStyle::pixelMetric(PixelMetric metric, const QStyleOption* option,
                          const QWidget* widget) const {
  switch (metric) {
    case PM_LayoutLeftMargin:
    case PM_LayoutTopMargin:
    case PM_LayoutRightMargin:
    case PM_LayoutBottomMargin:
      return kMargin;
    case PM_LayoutHorizontalSpacing:
    case PM_LayoutVerticalSpacing:
      return kGap;
    case PM_ToolBarItemSpacing:
    case PM_ToolBarItemMargin:
      return kGap / 2;
    case PM_TabBarTabShiftHorizontal:
    case PM_TabBarTabShiftVertical:
    case PM_TabBarTabOverlap:
      return 0;
    case PM_DockWidgetTitleMargin:
      return kGap / 4;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

QSize AppStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                                 const QWidget* widget) const {
  QSize made = QProxyStyle::sizeFromContents(type, option, size, widget);
  switch (type) {
    case CT_ItemViewItem:
    case CT_HeaderSection:
      made.setHeight(std::max(made.height(), row_height_of(option->fontMetrics)));
      break;
    case CT_TabBarTab:
      if (const auto* const tab = qstyleoption_cast<const QStyleOptionTab*>(option)) {
        made += is_upright(*tab) ? QSize(kGap / 2, kGap) : QSize(kGap, kGap / 2);
      }
      break;
    default:
      break;
  }
  return made;
}

int AppStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                        QStyleHintReturn* data) const {
  if (hint == SH_TabBar_ElideMode) return Qt::ElideNone;
  return QProxyStyle::styleHint(hint, option, widget, data);
}

}  // namespace rpcrdma::gui

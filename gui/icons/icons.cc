#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmapCache>
#include <QSvgRenderer>

#include <rpcrdma/icons/icons.h>

// The resources are in a static library, whose initializers run only if something refers to them.
// The macro must be used outside any namespace.
static void load_icons() {
  Q_INIT_RESOURCE(icons);
}

namespace rpcrdma::gui {

namespace {

class TintedSvg : public QIconEngine {
 public:
  TintedSvg(QString name, const QColor& colour) : name_(std::move(name)), colour_(colour) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    const qreal scale = painter->device()->devicePixelRatio();
    painter->drawPixmap(rect, pixmap(rect.size() * scale, mode, state));
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State /*state*/) override {
    const QColor colour = tint(mode);
    const QString key = QStringLiteral("rpcrdma-icon/%1/%2/%3x%4")
                            .arg(name_, colour.name(QColor::HexArgb))
                            .arg(size.width())
                            .arg(size.height());
    QPixmap drawn;
    if (QPixmapCache::find(key, &drawn)) return drawn;
    QFile file(":/icons/" + name_ + ".svg");
    if (!file.open(QIODevice::ReadOnly)) return {};
    QByteArray svg = file.readAll();
    svg.replace("currentColor", colour.name().toUtf8());
    drawn = QPixmap(size);
    drawn.fill(Qt::transparent);
    QPainter painter(&drawn);
    painter.setOpacity(colour.alphaF());
    QSvgRenderer(svg).render(&painter, QRectF({}, size));
    painter.end();
    QPixmapCache::insert(key, drawn);
    return drawn;
  }
  [[nodiscard]] QIconEngine* clone() const override { return new TintedSvg(name_, colour_); }

 private:
  [[nodiscard]] QColor tint(QIcon::Mode mode) const {
    const QPalette palette = QGuiApplication::palette();
    QColor colour = colour_.isValid() ? colour_ : palette.color(QPalette::ButtonText);
    if (mode == QIcon::Disabled) colour.setAlphaF(0.35F);
    if (mode == QIcon::Selected) colour = palette.color(QPalette::HighlightedText);
    return colour;
  }

  QString name_;
  QColor colour_;
};

}  // namespace

QIcon icon(const QString& name, const QColor& colour) {
  load_icons();
  return QIcon(new TintedSvg(name, colour));
}

}  // namespace rpcrdma::gui

#include "sections.h"

#include <QStringList>
#include <array>
#include <string_view>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {

namespace {

struct Behind {
  std::string_view field;  // and all fields below it
  const char* section;
  const char* rules;  // names, separated by spaces
};

// The first match counts.
constexpr std::array kBehind{
    Behind{"rpcrdma.xid", "RFC 8166 section 4.2.1", "HDR-02 HDR-09 ERR-01"},
    Behind{"rpcrdma.version", "RFC 8166 section 4.2.2", "HDR-03 HDR-04"},
    Behind{"rpcrdma.credit.in_use", "RFC 8166 section 3.3.1", "FC-01 CREDIT-STARVED"},
    Behind{"rpcrdma.credit", "RFC 8166 sections 3.3.1 and 4.2.3", "FC-01 FC-02 FC-05 FC-06"},
    Behind{"rpcrdma.proc", "RFC 8166 section 4.2.4", "HDR-05 HDR-07"},
    Behind{"rpcrdma.direction", "draft-cel-nfsv4-rpcrdma-version-two-02 section 5.2.2", "V2-02"},
    Behind{"rpcrdma.inv_handle", "draft-cel-nfsv4-rpcrdma-version-two-02 section 5.2.3",
           "V2-03 V2-04 INV-02"},
    Behind{"rpcrdma.msgp", "RFC 5666 sections 3.9 and 4.1", "DEP-01"},
    Behind{"rpcrdma.read.position", "RFC 8166 section 3.4.5", "RD-02 RD-03 RD-04"},
    Behind{"rpcrdma.read", "RFC 8166 sections 3.4.5 and 4.3.1", "RD-01 RD-05 RD-06"},
    Behind{"rpcrdma.write", "RFC 8166 sections 3.4.6 and 4.3.2", "WR-01 WR-02 WR-03 WR-04"},
    Behind{"rpcrdma.reply", "RFC 8166 sections 3.5.3 and 4.3.3", "RP-01 RP-02 RP-03"},
    Behind{"rpcrdma.segment", "RFC 8166 section 3.4.3", "OPS-01 OPS-02 WR-02"},
    Behind{"rpcrdma.error", "RFC 8166 section 4.5", "ERR-01 ERR-02 ERR-03 ERR-04"},
    Behind{"rpcrdma.opt", "draft-cel-nfsv4-rpcrdma-version-two-02 section 4.1", "V2-08"},
    Behind{"rpcrdma.flags", "draft-ietf-nfsv4-rpcrdma-version-two", ""},
    Behind{"rpcrdma.prop", "draft-ietf-nfsv4-rpcrdma-version-two", ""},
    Behind{"rpcrdma.dialect", "docs/dialects.md", ""},
    Behind{"rpcrdma.pd", "RFC 8797 section 4", "CMP-01 CMP-02 CMP-03"},
    Behind{"rpcrdma.threshold", "RFC 8166 sections 3.3.2 and 3.3.3; RFC 8797 section 4.2",
           "INL-01 INL-02"},
    Behind{"rpcrdma.invalidated_handle", "RFC 8797 sections 3.2 and 4.1", "INV-01 INV-02 INV-03"},
    Behind{"rpcrdma.op", "RFC 8166 sections 3.4.5 and 3.4.6", "OPS-01 OPS-02 OPS-03 OPS-04"},
    Behind{"rpcrdma.reverse", "RFC 8167 sections 4 and 5", "BI-01 BI-02"},
    Behind{"rpcrdma.malformed", "RFC 8166 section 4.5.2", "HDR-01 HDR-06"},
    Behind{"rpcrdma", "RFC 8166 section 4", ""},
    Behind{"rpc", "RFC 5531 section 9", "HDR-02"},
    Behind{"nfs", "RFC 1813, RFC 7530, RFC 8881; bindings: RFC 8267", ""},
    Behind{"ib", "InfiniBand Architecture volume 1 chapter 9", ""},
    Behind{"cm", "InfiniBand Architecture volume 1 chapter 12", ""},
};

const Behind* behind(std::string_view field) {
  for (const Behind& b : kBehind) {
    if (!field.starts_with(b.field)) continue;
    if (field.size() == b.field.size() || field[b.field.size()] == '.') return &b;
  }
  return nullptr;
}

}  // namespace

QString field_help(decode::FieldId id) {
  const decode::FieldSpec& spec = decode::spec(id);
  QString text =
      QString("<p><b>%1</b> (%2)<br>%3</p>")
          .arg(spec.name, decode::type_name(spec.type), QString(spec.help).toHtmlEscaped());
  const Behind* const b = behind(spec.name);
  if (b == nullptr) return text;
  text += QString("<p>%1</p>").arg(b->section);
  for (const QString& name : QString(b->rules).split(' ', Qt::SkipEmptyParts)) {
    const rules::Rule* const rule = rules::find_rule(name.toStdString());
    if (rule == nullptr) continue;
    text += QString("<p><b>%1</b> %2. <i>%3</i></p>")
                .arg(rule->name, QString(rule->sentence).toHtmlEscaped(), rule->section);
  }
  return text;
}

QString rule_help(const char* name) {
  const rules::Rule* const rule = rules::find_rule(name);
  if (rule == nullptr) return {};
  return QString("<p><b>%1</b> %2.</p><p><i>%3</i></p><p>%4</p>")
      .arg(rule->name, QString(rule->sentence).toHtmlEscaped(), rule->section,
           QString(rule->advice).toHtmlEscaped());
}

}  // namespace rpcrdma::gui

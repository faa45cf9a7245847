#include "html.h"

namespace rpcrdma::report::html {

std::string style_sheet() {
  return R"(:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--t:#1d232a;--m:#5a6570;--line:#dde2e8;--link:#1f5fa8;
--error:#b3261e;--error-bg:#fdecea;--warning:#8a5200;--warning-bg:#fff3dc;--note:#2a5d9f;--note-bg:#e9f1fb;--good:#1d7044;--good-bg:#e6f5ec}
@media (prefers-color-scheme:dark){:root{--bg:#14181d;--card:#1c2127;--t:#e4e8ed;--m:#a0abb6;--line:#323a43;--link:#86b7f3;
--error:#ff9a92;--error-bg:#3b1d1c;--warning:#f3bd6d;--warning-bg:#382a14;--note:#9cc4f7;--note-bg:#1b2c42;--good:#7fd6a4;--good-bg:#173325}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--t);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,header,footer{max-width:1320px;margin:0 auto;padding:0 20px}
header{padding-top:26px}
h1{font-size:22px;line-height:1.25;margin:0 0 2px;overflow-wrap:anywhere}
h2{font-size:18px;margin:34px 0 10px}
h3{font-size:15px;margin:0}
h3.part{margin:22px 0 0}
p{margin:6px 0}
a{color:var(--link)}
nav{margin:14px 0 0;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:14px}
.sub,.small{color:var(--m);font-size:13.5px}
.verdict{border-left:6px solid var(--c);background:var(--b);color:var(--t);border-radius:6px;padding:12px 16px;margin:16px 0 0;font-size:17px;overflow-wrap:anywhere}
.verdict b{color:var(--c)}
.error{--c:var(--error);--b:var(--error-bg)}.warning{--c:var(--warning);--b:var(--warning-bg)}.note{--c:var(--note);--b:var(--note-bg)}.good{--c:var(--good);--b:var(--good-bg)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:10px;margin:14px 0 0;padding:0}
.facts div{display:flex;flex-direction:column;justify-content:space-between;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:8px 12px}
.facts dt{color:var(--m);font-size:12.5px}.facts dd{margin:0;font-size:16px;font-weight:600;font-variant-numeric:tabular-nums}
.quality{background:var(--card);border:1px solid var(--line);border-radius:6px;margin:0 0 10px;padding:6px 15px}
.quality div{display:grid;grid-template-columns:150px 1fr;gap:12px;padding:4px 0}
.quality dt{color:var(--m)}.quality dd{margin:0;overflow-wrap:anywhere}
details summary{cursor:pointer;color:var(--m);margin:6px 0}
.finding{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--c);border-radius:6px;padding:11px 15px;margin:0 0 10px;overflow-wrap:anywhere}
.finding ul{margin:4px 0;padding-left:20px}
.tag{display:inline-block;background:var(--b);color:var(--c);border-radius:4px;padding:0 7px;font-size:12.5px;font-weight:600;margin-right:6px}
.rule{color:var(--m);font-size:13.5px;margin:6px 0 0}
.advice{margin:6px 0 0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));gap:12px}
.figures+.wide{margin-top:12px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:10px 12px;min-width:0}
figure .plot{max-width:660px;margin:0 auto}
.stack{display:grid;gap:10px;margin:0 0 12px;min-width:0}.stack details{display:grid;gap:10px}.stack details figure{margin-top:10px}
.verdict+.wide,.wide+.stack,p+.stack{margin-top:12px}.stack+.wide,.wide+.wide,.wide+.figures,.figures+.stack,p+.figures{margin-top:12px}
figure.full .plot{max-width:none}.narrower{display:none}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:6px}
.wide:focus-visible{outline:2px solid var(--link)}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:6px 10px;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}
tbody tr:last-child td{border-bottom:0}
th{font-size:12.5px;color:var(--m);font-weight:600}
td.n,th.n{text-align:right}
td.long{white-space:normal;min-width:220px}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card);z-index:1}
td .bad{color:var(--error);font-weight:600}
th button{all:unset;cursor:pointer}
th button:focus-visible{outline:2px solid var(--link)}
th button::after{content:"\2195";opacity:.35;margin-left:4px}
th[aria-sort=ascending] button::after{content:"\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\2193";opacity:1}
footer{color:var(--m);font-size:13px;padding-top:26px;padding-bottom:34px}
code{font:13px ui-monospace,"DejaVu Sans Mono",monospace}
@media (max-width:640px){.wider{display:none}.narrower{display:block}td:first-child{white-space:normal;min-width:112px;max-width:150px;overflow-wrap:anywhere;border-right:1px solid var(--line)}}
@media (max-width:520px){main,header,footer{padding-left:12px;padding-right:12px}h1{font-size:19px}.verdict{font-size:15.5px}.facts{grid-template-columns:1fr 1fr}.facts dt{overflow-wrap:anywhere}.plot{font-size:13.5px!important}.plot .ti{font-size:14.5px!important}figure{padding:6px}}
@media print{:root{--bg:#fff}th:first-child,td:first-child{position:static}.wider{display:block}.narrower{display:none}body{font-size:11pt}main,header,footer{max-width:none;padding:0}nav,th button::after{display:none}.wide{overflow:visible}figure,.finding,tr{break-inside:avoid}h2{break-after:avoid}table{font-size:8.5pt}th,td{padding:3px 5px;white-space:normal}.figures{grid-template-columns:1fr 1fr}td:first-child{min-width:0;max-width:none;border-right:0}}
)";
}

std::string script() {
  // Without "<" and "&", which XML does not allow here.
  return R"(document.querySelectorAll("table").forEach(function(table){
  var body=table.tBodies[0];
  table.querySelectorAll("th").forEach(function(th,column){
    var button=document.createElement("button");
    button.type="button";
    button.textContent=th.textContent;
    th.textContent="";
    th.appendChild(button);
    button.addEventListener("click",function(){
      var up=th.getAttribute("aria-sort")==="descending";
      table.querySelectorAll("th").forEach(function(other){other.removeAttribute("aria-sort");});
      th.setAttribute("aria-sort",up?"ascending":"descending");
      function key(row){
        var cell=row.cells[column],v=cell.getAttribute("data-v");
        return v===null?cell.textContent:v;
      }
      function order(a,b){
        var x=key(a),y=key(b),p=Number(x),q=Number(y);
        if(isNaN(p)||isNaN(q)){return x.localeCompare(y);}
        return p-q;
      }
      Array.from(body.rows).sort(function(a,b){return up?order(a,b):order(b,a);})
        .forEach(function(row){body.appendChild(row);});
    });
  });
});
)";
}

}  // namespace rpcrdma::report::html

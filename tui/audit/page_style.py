"""How the page of an audit looks, and what it does: sorts, filters, prints. It stands in the page itself."""

STYLE = """
:root{--line:#d5d9df;--soft:#f4f5f7;--text:#1d232b;--red:#b3261e;--amber:#9a6700;--green:#1a7f37;--grey:#6a737d;
  --blue:#2f6feb}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--line:#3a414b;--soft:#20262e;--text:#dde3ea;
  --red:#e5534b;--amber:#d29922;--green:#3fb950;--grey:#8b949e;--blue:#6ea8fe}body{background:#14181d}}
*{box-sizing:border-box}body{font:15px/1.45 system-ui,sans-serif;color:var(--text);margin:0 auto;max-width:1200px;
  padding:24px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 8px}p{margin:4px 0}
.bar{display:flex;height:22px;border-radius:4px;overflow:hidden;margin:12px 0 6px}.bar span{min-width:2px}
.cause{background:var(--red)}.fine{background:var(--green)}.tell{background:var(--grey)}.broken{background:var(--amber)}
.accepted{background:var(--blue)}
.bar.use{width:240px;max-width:100%;height:12px;margin:4px 0}
.key span{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 5px 0 0}
.key b{font-weight:400;white-space:nowrap;margin-right:14px}
.track{display:inline-block;width:100px;height:10px;background:var(--line);border-radius:2px}
.share{display:block;height:10px;background:var(--red);border-radius:2px}
.likely .share{background:var(--amber)}
input{font:inherit;padding:6px 10px;border:1px solid var(--line);border-radius:4px;width:100%;max-width:420px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px;margin-top:8px}
th,td{border-bottom:1px solid var(--line);padding:5px 8px;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:var(--soft);white-space:nowrap}td.word,.grid td,.grid th,#all th{overflow-wrap:normal}
#all td{overflow-wrap:break-word}
#all td:first-child{overflow-wrap:anywhere;min-width:140px}
th button,.go{all:unset;cursor:pointer;font-weight:600}th button:focus-visible,.go:focus-visible{outline:2px solid}
.go:hover{text-decoration:underline}
[aria-sort=ascending] button::after{content:" \\25b2"}[aria-sort=descending] button::after{content:" \\25bc"}
.grid{width:auto;max-width:100%}.grid td+td,.grid th+th{text-align:center;white-space:normal;min-width:64px}
.grid td+td{color:#1d232b}
.more{color:var(--grey)}
@media (max-width:700px){body{padding:14px}.stack thead{display:none}.stack tr{display:block;padding:8px 0;
  border-bottom:1px solid var(--line)}.stack td{display:block;border:0;padding:1px 0}
  .stack td[data-is]::before{content:attr(data-is) " ";color:var(--grey)}.stack td:empty{display:none}}
@media print{input,.more,#more{display:none}body{padding:0}tr{break-inside:avoid}.wide{overflow:visible}
  .bar span,.share,.track,.key span,.grid td{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""

SCRIPT = """
const rows=JSON.parse(document.getElementById('rows').textContent);
const names=JSON.parse(document.getElementById('names').textContent);
const ranks={status:['confirmed','likely','possible'],
  verdict:['cause','broken','cannot tell','accepted','nothing to fix'],change:['new','persisting']};
const texts=new Intl.Collator(undefined,{numeric:true});
const body=document.querySelector('#all tbody');
const box=document.getElementById('filter'),more=document.getElementById('more');
let by=-1,down=false,limit=500;
function order(a,b){
  if(a===b)return 0;
  if(a===''||b==='')return a===''?1:-1;
  const rank=ranks[names[by]];
  return (rank?rank.indexOf(a)-rank.indexOf(b):texts.compare(a,b))*(down?-1:1);
}
function show(){
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let found=rows.filter(r=>{const t=r.join(' ').toLowerCase();return words.every(w=>t.includes(w))});
  if(by>=0)found=found.slice().sort((a,b)=>order(a[by],b[by]));
  body.replaceChildren(...found.slice(0,limit).map(r=>{const tr=document.createElement('tr');
    for(const v of r){const td=document.createElement('td');td.textContent=v;tr.append(td)}return tr}));
  const told=found.length===1?'1 row':found.length+' rows';
  more.textContent=found.length>limit?told+', the first '+limit+' are shown; printing shows all':told;
}
document.querySelectorAll('#all th button').forEach((b,i)=>b.addEventListener('click',()=>{
  down=by===i?!down:false;by=i;
  const way=down?'descending':'ascending';
  document.querySelectorAll('#all th').forEach((t,j)=>t.setAttribute('aria-sort',j===i?way:'none'));
  show()}));
document.querySelectorAll('.go').forEach(b=>b.addEventListener('click',()=>{
  box.value=b.dataset.words;show();box.scrollIntoView()}));
box.addEventListener('input',show);
window.addEventListener('beforeprint',()=>{limit=1e9;show()});window.addEventListener('afterprint',()=>{limit=500;show()});
show();
"""

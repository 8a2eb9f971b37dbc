"""How people describe in a report what they saw: a pattern, the fact it states, and what the text must be about.

Guesses, questions and wishes are no observations: a sentence that doubts, asks or supposes before the match is passed
over, and each kind of symptom counts only in a text about its subject.
"""

from __future__ import annotations

from gpuwhy.probes.artefacts.reported_sentences import Report, report

_CALL = r"(?:request|call|invocation|inference|prompt|query|message|action|api call|time)s?"
_FIRST = r"(?:first|1st|initial)(?:[ -](?:few|two|three|and second|couple of|(?:~ ?|about )?[0-9]{1,4}))?"
_ONE = r"(?:inference|prediction|request|image|picture|frame|query|response|result|output|call|generation|invocation)s?"
_SLOW = (
    r"(?:slow(?:er)?|(?:a )?(?:\w+ )?long(?:er)?(?: time)?|high(?:er)?|minutes|"
    r"(?!0?\.)[0-9.]{1,6}(?: ?[-–~] ?[0-9.]{1,6})? ?(?:s|sec|seconds|minutes)\b(?=[^\n]{0,160}?\b(?:later|subsequent|"
    r"after(?:wards?)?|then|others?|next|second|following|rest|usual\w{0,2}|"
    r"normal\w{0,2}|only|fast(?:er)?|ms)\b))"
)
"""A duration alone is not slow: something must be told beside it."""
_GPU_USE = r"\bGPU[- ]?util\w{0,10}"
_MOVES = (
    r"(?:fluctuat\w{1,4}|jump\w{0,3}|oscillat\w{1,4}|swing\w{0,3}|varies|vary|unstable|not stable|spik\w{1,3}|"
    r"bounc\w{1,3}|goes|drops?|alternat\w{1,4})"
)
_SHARE = r"(?P<{0}>[0-9]{{1,3}}) ?(?:%|percent)"
_LOW_END = r"(?P<one>[0-9]{1,3}) ?(?:%|percent|(?=and |to |-|–|~))"
_MEMORY = (
    r"(?<!host )(?<!CPU )(?<!system )\b(?:(?:GPU|CUDA|device|video|graphics) )?(?:memory|VRAM|GPU RAM)(?: usage|"
    r" used| use| occupied| consumption| occupation| footprint)?(?: (?:of|on) (?:the |my |each |one )?(?:GPU|card)s?)?"
)
_HOST_MEMORY = (
    r"(?<!GPU )(?<!CUDA )(?<!\bV)\b(?:(?:CPU|host|system|main) (?:memory|RAM)|(?:the |my )?(?:CPU )?RAM)"
    r"(?: usage| used| use| consumption| footprint)?"
)
_EXCHANGE = (
    r"\b(?:(?:inter-?(?:GPU|node) )?communications?|(?:gradient |grad )?(?:all-?reduce|aggregation"
    r"|synchroni[sz]ation|sync|exchange)|NCCL(?: kernels?)?)"
)
_SYNCHRONISES = (
    r"(?:\bcuda(?:Stream|Device|Event)Synchronize\b|\btorch\.cuda\.synchronize\b|(?:\w|\)|\s|^|`)\.(?:item|cpu)\(\))"
)
_GROWS = r"(?:increas|grow|ris|climb)(?:e|es|ed|s|ing)?"
_SLOWLY = r"(?:slow(?:ly)?|continu\w{2,6}|gradual\w{0,2}|stead\w{1,5}|constant\w{0,2}|linear\w{0,2}|progressive\w{0,2})"
_LOADER = (
    r"(?:data ?load(?:er|ing)|loading (?:the |of )?data|data[_ ]?time|data (?:provider|pipeline|input)|input pipeline)"
)

_TRAINING = (
    r"(?:train(?:ing|s)?|fine-?tun\w{1,3}|pre-?training|epochs?|iterations?|steps?|"
    r"(?:training )?(?:job|script|loop|speed|run))"
)
_LATENCY = r"(?:latenc(?:y|ies)|response times?|inference times?|p9[0-9]{1,2})"
_NO_LOADING = (
    r"(?:random|synthetic|dummy|fake|constant) (?:input |image )?(?:tensors?|data|inputs?|batch(?:es)?|images?|noise)"
)
_FASTER = r"(?P<speedup>[1-9][0-9]{0,2}(?:\.[0-9]{1,2})?) ?(?:x|times) (?:faster|quicker|as fast|speed-?up)"

REPORTS: tuple[Report, ...] = (
    report(
        "said.work_slow",
        r"\b(?:train|tun|epoch|iteration|step|gpu)",
        rf"(?<!first )\b{_TRAINING}\b[^\n.?]{{0,60}}?\b(?:is|are|was|runs?|goes|got|gets?|became|seems?|takes?) "
        r"(?:\w{1,12} ){0,3}(?:slow(?:er|ly)?|long(?:er)?|forever|ages)\b",
        rf"\bslow {_TRAINING}\b",
        r"\btrain(?:s|ing)? (?:\w{1,12} ){0,3}(?:slowly|slower)\b",
    ),
    report(
        "said.latency_bad",
        r"\b(?:latenc|p9[0-9]|response|inference|request|serving)",
        rf"\b{_LATENCY}\b[^\n.?]{{0,60}}?\b(?:jump(?:s|ed)?|spik\w{{1,3}}|jitter\w{{0,3}}|fluctuat\w{{1,4}}|varies|"
        rf"unstable|increas\w{{1,4}}|rises?|degrad\w{{1,4}}|doubles?|"
        rf"(?:is|are|gets?|becomes?|goes) (?:\w{{1,10}} ){{0,2}}(?:high(?:er)?|slow(?:er)?|long(?:er)?|bad|up))\b",
        rf"\b(?:jittery?|spik(?:es?|y)|high|unstable|inconsistent|slow) (?:in |of )?(?:\w{{1,10}} )?"
        rf"(?:{_LATENCY}|inference)\b",
        r"\b(?:inference|requests?|responses?|serving)\b[^\n.?]{0,40}?\b(?:is|are|gets?|becomes?|takes?) "
        r"(?:\w{1,10} ){0,3}(?:slow(?:er)?|too long|very long|jittery)\b",
    ),
    report(
        "said.synthetic_faster",
        r"\b(?:train|epoch|iteration|step|gpu)",
        rf"\b{_NO_LOADING}\b[^\n.;]{{0,60}}?\b{_FASTER}\b",
        rf"\b{_FASTER}\b[^\n.;]{{0,30}}?\b(?:with|on|using|from) {_NO_LOADING}\b",
    ),
    report(
        "said.model_reloaded",
        r"\bmodel",
        rf"\b(?:un|re-?)load(?:s|ed|ing)?\b[^\n.]{{0,80}}?\b(?:every|each|per|for (?:each|every)|after)"
        rf" (?:single |new )?(?:\w{{1,12}} ){{0,2}}{_CALL}\b",
        r"\b(?:keeps?|kept|frequent\w{0,2}|constant\w{0,2}|repeated\w{0,2}|continu\w{1,8}|always) "
        r"(?:un|re-?)load(?:s|ed|ing)?\b",
        r"\bmodels? (?:(?:frequently|constantly|always|repeatedly|keeps?|is|are|gets?|being) ){0,3}"
        r"(?:un|re-?)load(?:s|ed|ing)?\b[^\n.]{0,60}?\b(?:again|frequent\w{0,2}|over and over|each|every|after|"
        r"despite)\b",
        rf"\b(?:every|each) {_CALL}\b[^\n.]{{0,60}}?\b(?:un|re-?)loads? the\b",
        rf"\b(?:clear|remov|evict|drop|flush|unload)(?:s|es|ed|ing)?\b[^\n.]{{0,20}}?\bmodels?\b[^\n.]{{0,20}}?"
        rf"\b(?:from|out of) (?:the )?(?:V?RAM|(?:GPU )?memory|GPU)\b[^\n.]{{0,20}}?"
        rf"\b(?:after|between) (?:each|every) {_CALL}\b",
        r"\bresetting model to expire immediately to make room\b",
        r"\b(?:evicting|swapping out) (?:the )?model\b",
    ),
    report(
        "said.first_request_slow",
        r"\b(?:infer|predict|serv|request|onnx|tensorrt|engine|model|latency|prompt|ollama|llm)",
        rf"\b{_FIRST} (?:\w{{1,12}} ){{0,2}}{_ONE}(?: \w{{1,12}}){{0,4}} (?:is|are|takes?|took|was|were|has|"
        rf"have|needs?)"
        rf" (?:\w{{1,12}} ){{0,3}}{_SLOW}",
        rf"\b(?:slow|long|high)\b(?: \w{{1,12}}){{0,3}} (?:for|on|to|of|in|at) (?:the )?{_FIRST}\b",
        rf"\b{_FIRST} (?:\w{{1,12}} ){{0,2}}{_ONE} (?:time |latency )?(?:is |was )?(?:so |very |too |much |"
        rf"extremely )?slow\b",
        rf"\bslow\w{{0,3}}\b[^\n.]{{0,30}} {_FIRST} (?:\w{{1,12}} ){{0,2}}{_ONE}\b",
        rf"\btakes? (?:a )?(?:\w{{1,8}} )?long time\b[^\n.]{{0,50}} {_FIRST}\b",
        rf"\b(?:takes?|took|needs?) (?:\w{{1,8}} ){{0,2}}[0-9.]{{1,5}} ?(?:s|sec|seconds|min|minutes)\b[^\n.]{{0,80}}?"
        rf"\b(?:for|on|at|in) (?:the )?{_FIRST}\b(?=[\s\S]{{0,160}}?\b(?:after (?:the |that )?first|later|"
        r"subsequent|then|following|second time|afterwards?)\b)",
        rf"\b{_FIRST} (?:time|run|prompt|call) (?:that )?(?:(?:i|we|you|it) )?(?:\w{{1,12}} ){{1,6}}"
        r"(?:long|ages|forever)\b",
        r"\bfirst (?:time|run|test|pass) (?:that )?(?:(?:i|we|you|it) )?(?:\w{1,12} ){1,5}"
        r"(?:poor|bad|slow|slower|worse)\b",
        r"\bwarm[- ]?up (?:effect|penalty|cost|latency)\b[^\n.]{0,30}\b(?:exists?|is (?:large|high|there|visible))\b",
    ),
    report(
        "said.waits_for_data",
        r"\b(?:train|epoch|data ?loader|fine-?tun)",
        r"\b(?:wait(?:s|ed|ing)?|starv(?:es|ed|ing)|idl(?:e|es|ing)) (?:for|of) (?:the )?(?:new |next |more |input )?"
        r"(?:data|batch(?:es)?|data ?loader)\b",
        rf"\b{_LOADER}\b[^\n.]{{0,60}}?\b(?:is|are|was|takes?|took|seems?|becomes?|gets?|increas\w{{1,4}}|"
        rf"dominat\w{{1,4}})"
        r" (?:\w{1,12} ){0,3}(?:slow|bottleneck|unstable|gradual\w{0,2}|large|high|long(?:er)?|most|too|the whole)\b",
        rf"\b{_LOADER}\b[^\n.]{{0,40}}?\b(?:stuck|stalls?|hangs?|pauses?|blocks?)\b[^\n.]{{0,40}}"
        r"\b(?:[0-9.]{1,5} ?(?:s|sec|seconds|min|minutes)|start of (?:every|each))",
        rf"\b(?:stuck|stalls?|pauses?|blocks?)\b[^\n.]{{0,30}}? (?:in|at|on|by) (?:the )?{_LOADER}\b",
        r"\bbatch(?:es)? (?:\w{1,12} ){0,2}tak(?:es?|ing) (?:a |so |too )?(?:very )?long(?: time)? to load\b",
        r"\bdata[_ ]?time\b[^\n.]{0,40}?\b(?:increases?|grows?|rises?|(?:goes|gets|becomes) (?:up|longer|higher)"
        r"|is (?:very |too )?(?:large|high|long))\b",
    ),
    report(
        "said.utilization_swings",
        r"\b(?:train|epoch)",
        rf"{_GPU_USE}\b[^\n.]{{0,80}}?\b{_MOVES}\b[^\n.]{{0,60}}?{_LOW_END}[^\n.]{{0,40}}?{_SHARE.format('other')}",
        rf"\b{_MOVES}\b[^\n.]{{0,30}}?{_LOW_END}[^\n.]{{0,40}}?{_SHARE.format('other')}"
        rf"(?=[^\n]{{0,120}}{_GPU_USE})",
        rf"{_GPU_USE}\b[^\n]{{0,200}}?\b{_MOVES}\b[^\n.]{{0,30}}?{_LOW_END}[^\n.]{{0,40}}?{_SHARE.format('other')}",
        shares={"one": "said.utilization_one_share", "other": "said.utilization_other_share"},
        negative=True,
    ),
    report(
        "said.utilization_low",
        r"\b(?:train|epoch|iteration)",
        rf"\b(?:very |extremely |quite |too |so )?low {_GPU_USE}",
        rf"{_GPU_USE}(?: rate)?(?: of [^\n.]{{1,40}})? (?:is|was|stays?|remains?)(?: \w{{1,10}}){{0,2}} low\b",
        r"\bGPUs? (?:(?:is|are|was|were|always|often|just|mostly) ){0,3}(?:waits?|waiting) (?:for|on) (?:the )?CPUs?\b",
        r"\bGPUs? (?:is|are|was|were|sits?|stays?) (?:mostly|mainly|often|usually|(?:almost|nearly) always) "
        r"(?:idle|idling)\b",
    ),
    report(
        "said.memory_grows",
        r"\b(?:gpu|cuda|vram|torch|tensorflow|epoch)",
        rf"{_MEMORY} (?:\w{{1,12}} ){{0,2}}(?:keeps?|kept|continues?) (?:on |to )?{_GROWS}\b",
        rf"{_MEMORY} (?:\w{{1,12}} ){{0,3}}{_GROWS}\b[^\n.]{{0,40}}?\b(?:each|every|after (?:one|each|every)|"
        rf"per|with|as|over)"
        r" (?:\w{1,10} ){0,2}(?:epochs?|iterations?|steps?|batch(?:es)?|time)\b(?![ -]sizes?\b)",
        rf"{_MEMORY} {_SLOWLY} {_GROWS}\b",
        r"\b(?:gets?|uses?|takes?|consumes?|occup(?:y|ies)|using|taking|consuming) more and more "
        r"(?:GPU memory|CUDA memory|VRAM|memory (?:of|on) the GPU)\b",
        rf"{_MEMORY} {_GROWS} {_SLOWLY}\b",
        rf"\b{_SLOWLY} (?:ris\w{{1,3}}|increas\w{{1,4}}|grow\w{{1,4}}) (?:of |in )?(?:the )?(?:GPU|CUDA|video|"
        rf"device) (?:memory|ram)\b",
        r"\b(?:GPU|VRAM|GPU memory|CUDA memory) (?:(?:is|gets?|getting|got|being|slowly) ){0,2}fill(?:s|ed|"
        r"ing)?(?: up)? (?:after|over|during) [0-9a-z]",
        rf"\bas (?:the )?(?:epochs?|iterations?|steps?) (?:increase|go|pass|progress)"
        rf"\w{{0,4}}\b[^\n.]{{0,30}}?{_MEMORY} (?:\w{{1,12}} ){{0,2}}{_GROWS}\b",
        rf"{_MEMORY}[^\n.]{{0,20}} {_GROWS} from [0-9][^\n.]{{0,20}} to [0-9]",
    ),
    report(
        "said.host_memory_grows",
        r"\b(?:train|epoch|iteration|batch|step|data ?loader|torch|tensorflow|gpu)",
        rf"{_HOST_MEMORY} (?:\w{{1,12}} ){{0,2}}(?:keeps?|kept|continues?) (?:on |to )?{_GROWS}\b",
        rf"{_HOST_MEMORY} (?:\w{{1,12}} ){{0,3}}{_GROWS}\b[^\n.]{{0,40}}?\b(?:each|every|after (?:one|each|every)|"
        rf"per|with|as|over|until)"
        r" (?:\w{1,10} ){0,3}(?:epochs?|iterations?|steps?|batch(?:es)?|time|out|full|killed|crash\w{0,3})\b",
        rf"{_HOST_MEMORY} {_SLOWLY} {_GROWS}\b",
        rf"{_HOST_MEMORY} {_GROWS} {_SLOWLY}\b",
    ),
    report(
        "said.memory_kept",
        r"\b(?:gpu|cuda|vram|nvidia-smi)",
        rf"{_MEMORY} (?:is|was|are|does|do|did|has|still)(?:n['o]?t|(?: still)? not| never) (?:being |be |get |been )?"
        r"(?:(?:de-?allocated|released?|freed?|cleared|reclaimed)\b[^\n]{0,60}?\b(?:after|when|once|"
        r"even)\b[^\n.]{0,40}?"
        r"\b(?:ctrl|interrupt\w{0,3}|kill\w{0,3}|stop\w{0,4}|terminat\w{1,4}|exit\w{0,3}|end(?:s|ed)?|crash\w{0,3}))",
        r"\b(?:ctrl[-+ ]?c|interrupt\w{0,3}|kill\w{0,3}|stop\w{0,4}|terminat\w{1,4}|exit\w{0,3}|zombie)\b[^\n]{0,120}?"
        rf"{_MEMORY} (?:is|was|does|did|still)(?:n['o]?t| not| never) (?:being |be |get |been )?"
        r"(?:de-?allocated|released?|freed?|cleared|reclaimed)\b",
        rf"\bzombie\b[^\n.]{{0,60}}?\b(?:keeps?|still|holds?|holding|occup\w{{1,5}})\b[^\n.]{{0,40}}?{_MEMORY}",
        negative=True,
    ),
    report(
        "said.spills_to_host",
        r"\b(?:vram|gpu|nvidia)",
        r"\bshared (?:GPU |video |graphics |V|system )?(?:memory|RAM)\b[^\n.]{0,30}?"
        r"\b(?:is|was|gets?|being|starts? to be) (?:(?:shown|now|also|being|to|be) ){0,3}"
        r"(?:used|filled|filling|growing|rising|increas\w{1,4})\b",
        r"\b(?:uses?|using|used|fills?|spills?|spilling|overflow\w{0,3}|leak\w{0,3}|moves?|offload\w{0,3}) "
        r"(?:up |over |in ?to |to |on ?to )?(?:the )?shared (?:GPU |video |graphics |V|system )(?:memory|RAM)\b",
        near=r"\bvram\b|\bwindows\b|\bdedicated\b|\btask manager\b|\bdriver\b",
    ),
    report(
        "said.handler_blocks",
        r"\b(?:torchserve|triton|serving|inference server|fastapi|flask|handler|endpoint)\b",
        r"\bGPU (?:is (?:idle|waiting)|waits|idles|cannot start|stays idle|sits idle)\b[^\n.]{0,30}?"
        r"\b(?:while|until|for)\b[^\n.]{0,60}?\b(?:cpu|pre-?process\w{0,3}|post-?process\w{0,3}|decod\w{2,3}|"
        r"tokeni[sz]\w{1,5})\b",
        r"\b(?:pre|post)-?processing (?:is|takes?|dominates) (?:\w{1,8} ){0,3}?(?:bottleneck|most of|longer than)\b",
    ),
    report(
        "said.exchange_dominates",
        r"\b(?:gpus|nodes|distributed|ddp|nccl|zero|horovod|fsdp)\b",
        rf"{_EXCHANGE} (?:time |overhead |cost )?(?:\w{{1,12}} ){{0,2}}(?:dominates?|(?:is|was) (?:\w{{1,10}} ){{0,2}}"
        r"(?:bottleneck|dominant|dominating))\b",
        rf"{_EXCHANGE} (?:time |overhead |duration |cost )?(?:is|takes?|took|was) (?:\w{{1,10}} ){{0,2}}"
        r"(?:longer|more(?: time| expensive)?|(?:[0-9.]{1,5} ?(?:x|times) )?(?:longer|more|slower)(?: \w{1,10})?)"
        r" than (?:the )?(?:forward|backward|comput\w{1,6})\b",
        rf"{_EXCHANGE} (?:time |overhead |cost )?(?:takes?|took|accounts? for|is|was) (?:up )?"
        r"(?:about |around |over |nearly |~ ?)?(?:[5-9][0-9] ?%|most) of (?:the )?(?:\w{1,10} )?"
        r"(?:time|step|iteration)\b",
    ),
    report(
        "said.synchronising_takes",
        r"\b(?:gpu|cuda|torch)",
        rf"{_SYNCHRONISES}[^\n.]{{0,40}}?\b(?:takes?|took|costs?|spends?|consumes?)\b (?:\w{{1,10}} ){{0,3}}?"
        r"(?:(?:lot|most|much|too|long|longest|majority)\b"
        r"|[0-9.]{1,6} ?(?:-|to)? ?[0-9.]{0,6} ?(?:s|sec|seconds|ms|us|%)(?!\w))(?![^\n.]{0,80}\?)",
        rf"\b(?:takes?|took|spends?|spent|wastes?) (?:\w{{1,10}} ){{0,2}}?(?:[0-9.]{{1,6}} ?(?:-|to)? ?[0-9.]{{0,6}} ?"
        rf"(?:s|sec|seconds|ms|us|%)|(?:a )?lot of (?:the )?time|most of (?:the |its )?time|a long time)"
        rf" (?:of \w{{1,10}} )?(?:for|in|on|at) (?:the |a )?{_SYNCHRONISES}",
    ),
    report(
        "said.second_epoch_faster",
        r"\bepoch",
        r"\b(?:first|1st) epoch\b[^\n.]{0,60}?\b(?:slow(?:er|ly)?|(?:takes?|took) [^\n.]{0,30}?(?:long\w{0,2}|"
        r"min\w{0,5}|hours?|seconds?))\b[^\0]{0,200}?\b(?:second|2nd|later|subsequent|next|following|other) epochs?"
        r"\b[^\n]{0,80}?"
        r"\b(?:fast(?:er)?|quick(?:er)?|better|less than|only)\b",
        r"\b(?:second|2nd|later|subsequent|next|following) epochs? (?:is|are|was|were|runs?|gets?) (?:\w{1,8} ){0,2}"
        r"faster than the first\b",
    ),
    report(
        "said.offloads",
        r"\b(?:zero|deepspeed|fsdp|accelerate|offload)",
        r"\b(?:optimi[sz]ers?|param(?:eter)?s?|CPU|zero)[- ](?:states? |CPU )?off-?load(?:ing|ed)? ?"
        r"(?:is |are |was )?(?:enabled|on|used|turned on|active|to (?:the )?CPU)\b",
        r"\boff-?load(?:ing|ed|s)? (?:the |both |optimi[sz]er and )?(?:optim\w{0,9}|param\w{0,8}|weights)(?: states?)?"
        r" (?:to|on(?:to)?|in) (?:the )?(?:CPU|host|RAM)\b",
        r"\b(?:with|using|zero-?[123x]?\+?) ?(?:optimi[sz]er|CPU|param\w{0,8}) off-?load(?:ing)?\b",
    ),
    report(
        "said.memory_failure",
        r"\b(?:gpu|cuda|vram|torch|tensorflow|train)",
        r"\b(?:got|gets?|getting|runs?|running|ran|goes|went|hits?|hitting|encounter\w{0,4}|crash\w{0,3}|fail\w{0,3}) "
        r"(?:(?:into|with|an?|the|by|CUDA|GPU|RuntimeError:?) ){0,4}"
        r"(?:out[- ]of[- ]memory(?! trying to allocate)|OOM)\b",
    ),
    report(
        "said.fails_later",
        r"\b(?:out of memory|oom)\b",
        r"\bafter (?:about |around |maybe |roughly |approximately |some |a few |several )?(?:[0-9]{1,7}|one|two|"
        r"three|some|several) "
        r"?(?:epochs?|steps?|iterations?|batch(?:es)?|hours?|its?)\b",
        r"\b(?:at|near|in|before|towards?) the (?:end|middle) of (?:the |an? |each |"
        r"every )?(?:\w{1,8} )?(?:epoch|training)\b",
        r"\b(?:works?|trains?|runs?)(?: \w{1,12}){0,4} (?:correctly |fine |well )?(?:in|at|for) the "
        r"(?:begin\w{0,5}|first|start)\b",
        near=r"(?<!no )(?<!without )(?:\bout of memory\b|\boom\b)(?! killer)|\bcrash|\bfail|\bkilled\b",
    ),
)
"""Symptoms of training, memory and serving, in the words of those who report them."""

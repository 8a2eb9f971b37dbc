"""How people describe in a report what they saw of machines and devices: clocks, hangs, cards that are not used.

The rules for what counts are those of `reported_wordings`.
"""

from __future__ import annotations

from gpuwhy.probes.artefacts.reported_sentences import Report, report

_SERVERS = r"(?:servers?|instances?|processes|workers|replicas|models)"
_MANY = r"(?:multiple|several|two|three|four|eight|more|many|[2-9]|1[0-9])"
_WORSE = (
    r"(?:slow(?:er|s|ed)?\b|degrad\w{1,4}\b|(?:latency|latencies|time) (?:increases?|doubles?|rises?|spikes?|goes up)"
    r"\b|"
    r"throughput (?:drops?|decreases?|falls?)\b)"
)
_AFFIRMED = r"(?:(?!\b(?:not|never|without|unless|even|still|but)\b|n't)[^\n;])"
_P2P_OFF = r"NCCL_P2P_DISABLE\b(?! ?[=:]? ?['\"]?(?:0|false|unset)\b)"

_HOST_MEMORY = (
    r"(?<!GPU )(?<!CUDA )(?<!video )(?<![Vv])(?<![Vv]-)\b(?:(?:CPU|host|system|main|physical) (?:memory|RAM)|"
    r"(?:[0-9]{1,4} ?(?:GB?|GiB) (?:of )?)?RAM)(?: usage| use| consumption)?"
    r"(?: of (?:the |this )?(?:host|machine|server|node))?"
)
_UP_TO = (
    r"(?:(?!\b(?:not|never|no|only|far|half|before|until|if|less|GPU)\b|n't\b)[^\n.,;]){0,50}?"
    r"\b(?:is|was|gets?|got|goes(?: up)?|went|runs?|ran|climb(?:s|ed|ing)?|grow(?:s|ing)?|grew|ris(?:es|ing)|rose|"
    r"increas(?:es|ed|ing)|fill(?:s|ed|ing)?|reach(?:es|ed|ing)?|hits?|exceed(?:s|ed)?|at|up|becomes?|became)\b "
    r"(?:(?:steadily|slowly|completely|fully|nearly|almost|totally|gradually|and|until|up|to|at|all|being|over|"
    r"used) ){0,4}"
)
_ALL_USED = (
    r"(?:(?:full|exhausted|used up|maxed(?: out)?|filled(?: up)?|saturated|out)\b|(?:9[5-9]|100) ?(?:%|percent)(?!\w))"
)
_KILLED = (
    r"\b(?:session|notebook|kernel|runtime|instance|colab) (?:crash\w{0,3}|died|dies|restart\w{0,3})\b|"
    r"(?<!nothing )(?<!nobody )(?<!none )(?<!no process )(?<!no job )"
    r"\b(?:is|was|gets?|got|being|been|are|were|process(?:es)?|script|job|training|run|workers?|kernel|session|pod|"
    r"container|it) (?:(?:is|was|gets?|got|being|been|also|then|often|always|just|simply|finally) ){0,3}"
    r"killed\b(?! by (?:me|us|hand))|"
    r"\bkilled (?:by|from) (?:the )?(?:system|kernel|os|linux|oom|scheduler|slurm|kubernetes)|\boom-? ?killer\b|"
    r"\b(?:exit|return) (?:code|status)[ :]{1,3}(?:137|-9)\b|\bsigkill\b|\boomkilled\b|\b(?:machine|node|server|host) "
    r"(?:freezes|froze|hangs|crash\w{0,3}|reboots|becomes unresponsive)"
)

_P2P = r"\b(?:P2P|peer[- ]to[- ]peer(?: access)?|(?:GPU )?peer access)"

REPORTS: tuple[Report, ...] = (
    report(
        "said.spans_machines",
        r"\bnccl|\bdistributed|all_?reduce|\bgpus\b",
        r"\b(?:cross|inter|multi)[- ]?node\b[^\n.]{0,30}?\b(?:collectives?|communication|training|all-?_?reduce|jobs?|"
        r"runs?|setup|bandwidth|tests?|traffic)\b",
        r"\b(?:between|across) (?:the |our |two |both |all |different |several )?(?:nodes|machines|hosts)\b",
    ),
    report(
        "said.some_gpus_spin",
        r"\b(?:gpus|nccl|ddp|distributed)\b",
        r"\bGPUs?\b[^\n]{0,80}?\b100 ?%[^\n]{0,120}?\b(?:remaining|others?|rest|one|two|last|[1-7])"
        r"\b[^\n]{0,60}?\b0 ?%",
        r"\b(?:one|two|single|[1-7]) (?:of the )?GPUs?\b[^\n]{0,60}?\b0 ?%[^\n]{0,100}?\b(?:others?|rest|"
        r"remaining)\b[^\n]{0,60}?\b100 ?%",
        negative=True,
    ),
    report(
        "said.power_cap_active",
        r"\b(?:gpu|nvidia)",
        r"\bSW[ _]Power[ _]Cap\b['\"`*]{0,2}[^\n.]{0,50}?\b(?:permanent\w{0,2}|always|constant\w{0,2}|is|still|"
        r"stays?|remains?|shows?"
        r"|appears?|active)\b(?! not)",
    ),
    report(
        "said.clock_stuck",
        r"\b(?:gpu|nvidia)",
        r"\b(?:capped|stuck|pinned|locked|stays?|limited|never (?:leaves?|exceeds?|goes (?:above|over)|rises? "
        r"above))\b(?:(?!\b(?:above|over)\b)[^\n.]){0,20}?"
        r"\b(?P<clock>[0-9]{2,4}) ?MHz\b(?:[^\n.]{0,24}?\bmax\w{0,4}(?: clock)?:? (?P<most>[0-9]{3,4}) ?MHz)?",
        negative=True,
    ),
    report(
        "said.gpu_not_used",
        r"\b(?:gpu|cuda)",
        r"(?<!i am )(?<!i'm )(?<!\bi )(?<!\bwe )(?<!you )(?<!\bdo )(?<!did )"
        r"\b(?:does ?n[o']?t|do ?n[o']?t|did ?n[o']?t|is ?n[o']?t|are ?n[o']?t|won't|never|"
        r"not) (?:seem(?:s|ing)? to "
        r"|appear to |be |actually |really )?(?:us(?:e|es|ing)|utili[sz](?:e|es|ing)) (?:the |my |any |"
        r"a )?(?:NVIDIA )?GPUs?\b"
        r"(?! (?:memory|direct|\d|fully|effic|ram))(?! (?:at|to) (?:full|100))",
        r"\bGPU (?:is |was )?(?:still )?not (?:being )?(?:used|utili[sz]ed)\b"
        r"(?! (?:fully|effic|enough|by (?:other|another|any)))",
        r"\b(?:runs?|running|stick(?:s)?|trains?) (?:only )?(?:on|with) (?:the )?CPU\b[^\n.]{0,20}?\b(?:instead "
        r"of|not|rather than)"
        r" (?:on |the ){0,2}GPU\b",
        r"\bno GPU (?:usage|utili[sz]ation|activity)\b",
        negative=True,
    ),
    report(
        "said.gpu_not_seen",
        r"\b(?:tensorflow|torch|pytorch|jax|keras)",
        r"(?:\b(?:not|never|cannot|unable to|fails? to|failed to)|n'?t) (?:able to )?(?:detect|see|find|"
        r"recogni[sz]e|list)(?:s|ed|ing)? (?:the |my |any |a )?(?:NVIDIA )?GPUs?\b"
        r"(?! (?:memory|usage|leak|process|problem))",
        r"\bGPUs? (?:(?:is|are|was|were|still) ){0,2}not (?:being )?(?:detected|recogni[sz]ed|found|visible|listed|"
        r"seen)\b",
        r"\bno GPUs? (?:is |are |was |were )?(?:detected|found|visible|listed|recogni[sz]ed|seen)\b",
        r"\bNum GPUs Available:? {0,4}0\b",
        r"\blist_physical_devices\(['\"]GPU['\"]\)\)?\s{0,4}\[\]",
        negative=True,
    ),
    report(
        "said.peer_access_avoided",
        r"\b(?:nccl|gpus|acs|p2p)",
        r"\b(?:works?|worked|resolve[sd]?|solve[sd]?|fixe[sd]|helps?|helped|no hang|(?:runs?|running|trains?) "
        r"(?:\w{1,8} ){0,2}?(?:only|fine|ok|again|correctly|well|now))\b"
        rf"{_AFFIRMED}{{0,90}}?\b{_P2P_OFF}",
        rf"\b{_P2P_OFF}{_AFFIRMED}{{0,60}}?"
        r"\b(?:works?|worked|fixe[sd]|solve[sd]?|resolve[sd]?|helps?|no (?:more )?hangs?)\b(?! (?:no|worse|just as)\b)",
        r"\b(?:hangs?|stuck|freez\w{1,3}|deadlock\w{0,2}|(?:(?:does|do|did) ?n[o']?t|not|never) (?:work|run|train))\b"
        r"[^\n]{0,60}?\b(?:without|unless)\b[^\n]{0,20}\bNCCL_P2P_DISABLE\b",
        r"\b(?:disabl(?:e|ed|ing)|turn(?:ed|ing) off) (?:the )?(?:ACS|IOMMU)\b"
        rf"{_AFFIRMED}{{0,80}}?\b(?:solve[sd]|"
        r"fixe[sd]|resolve[sd]|"
        r"works|worked|helped|able to run|no (?:more )?hang)",
        negative=True,
    ),
    report(
        "said.hang_at_full_use",
        r"\b(?:nccl|ddp|distributed|multi-?gpu|gpus|horovod|all_?reduce|tp[0-7]|tensor[- ]parallel|ranks)\b",
        r"\b(?:hang(?:s|ing)?|stuck|freez\w{1,3}|frozen|deadlock\w{0,2})"
        r"\b[^\n]{0,200}?\bGPU[- ]?(?:util\w{0,10}|usage)\b[^\n.]{0,40}?"
        r"(?:~ ?)?(?:9[89]|100) ?%",
        r"\bGPU[- ]?(?:util\w{0,10}|usage)\b[^\n.]{0,40}?(?:~ ?)?(?:9[89]|100) ?%[^\n]{0,80}?\b(?:hang(?:s|"
        r"ing)?|stuck|freez\w{1,3}|"
        r"no progress|frozen|no real activity|never (?:finish|end|complet|return)\w{1,3})\b",
        r"\bGPU[- ]?(?:util\w{0,10}|usage)\b[^\n.]{0,20}?(?:~ ?)?(?:9[89]|100) ?%[^\n.]{0,30}?\bpower"
        r"(?: (?:consumption|usage|draw))? (?:\w{1,8} ){0,3}low\b",
        negative=True,
    ),
    report(
        "said.hangs",
        r"\bnccl (?:info|warn|version)\b",
        r"(?<![0-9] )(?<!debug )(?<!debugging )"
        r"\b(?:hangs?|hung(?! (?:collectives?|process\w{0,2}|jobs?|tasks?|ranks?)\b)|hanging|gets? stuck|"
        r"(?:is|are|was|just|got) stuck|freezes|froze|deadlock(?:s|ed))\b"
        r"(?! (?:up|around|on to|out)\b)(?! (?:is|was|has been|were|are) (?:now )?(?:fixed|resolved|solved|gone)\b)",
        unless=r"\bcan (?:\w{1,12} ){0,1}(?:(?:cause|lead to|result in) (?:an? |the )?)?\Z|"
        r"\b(?:fix|resolve|solve|detect|monitor|catch)(?:e?[sd]|ing)?(?: \w{1,12}){0,2} \Z",
    ),
    report(
        "said.dtype_beyond_gpu",
        r"\b(?:bf16|bfloat16|fp8|float8)\b",
        r"\b(?:bf16|bfloat16)\b[^\n.?|]{0,40}?\bon (?:an? |the |my |our |one )?"
        r"(?:NVIDIA |Tesla |GeForce |RTX |GTX ){0,2}(?:P4|P40|P100|V100S?|T4|10[678]0(?: ?Ti)?|"
        r"20[678]0(?: ?Ti)?)\b[^\n|]{0,60}?\b(?:slow(?:er)?|fails?|errors?|"
        r"no(?:t any)? (?:faster|speed-?up))\b",
        r"\b(?:fp8|float8)\b[^\n.?|]{0,40}?\bon (?:an? |the |my |our |one )?"
        r"(?:NVIDIA |Tesla |GeForce |RTX |GTX ){0,2}(?:P4|P40|P100|V100S?|T4|A10G?|A16|A30|A40|A100|"
        r"20[678]0(?: ?Ti)?|30[6-9]0(?: ?Ti)?)\b[^\n|]{0,60}?\b"
        r"(?:slow(?:er)?|fails?|errors?|no(?:t any)? (?:faster|speed-?up))\b",
    ),
    report(
        "said.no_peer_access",
        r"\b(?:gpus?|nccl|rtx|cards?)\b",
        rf"{_P2P} (?:\w{{1,10}} ){{0,6}}?(?:is|are|was) (?!not (?:disabled|un))(?:\w{{1,10}} )?"
        r"(?:disabled|not supported|"
        r"unsupported|not available|unavailable|not possible|blocked)\b(?! by (?:default|setting|env))",
        rf"\b(?:do|does|can) ?(?:not|n't) (?:support|do|have|use) {_P2P}",
        rf"\b(?:without|no|lacks?|lacking) {_P2P}(?: access| support)\b",
        negative=True,
    ),
    report(
        "said.full_precision",
        r"\b(?:train|infer|amp\b|mixed precision|fp32|gpu)",
        r"\b(?:AMP|mixed[- ]precision(?: training)?|autocast) (?:is|was) (?:still |currently )?"
        r"(?:off|disabled|not (?:used|enabled|on))\b",
        r"\b(?:train(?:s|ed|ing)?|runs?|running|inference|everything|all)(?: is)?(?: run| done)? "
        r"in (?:pure |plain |only )?"
        r"(?:full precision|fp32|float32)\b(?! and| or| vs)",
        r"\b(?:do|does|did|are|is)(?:n't| not) (?:use|using) (?:AMP|mixed[- ]precision|autocast)\b",
        negative=True,
    ),
    report(
        "said.throttled_by_heat",
        r"\b(?:gpu|nvidia|geforce|titan|[rg]tx|tesla|quadro)",
        r"\bthrottl(?:es|ed|ing) (?:down )?[^\n.,;?]{0,90}?\b(?:temp(?:erature)?s?|thermal\w{0,2}|heat|hot|overheating|"
        r"degrees|[0-9]{2} ?°? ?C)\b(?![^\n.]{0,80}\?)",
        r"\bthermal(?:ly)?[- ]throttl(?:es|ed|ing)\b(?! ?(?:time|:|=|\|))(?![^\n.]{0,80}\?)",
        r"\b(?:SW|HW|software|hardware)[ _]thermal[ _]slowdown(?:[ :=]|\bis\b|\bwas\b|\bshows?\b){1,6}active\b",
        r"\boverheat(?:s|ed|ing)\b[^\n.?]{0,60}?\b(?:slow(?:s|ed|ing)?|throttl(?:es|ed|ing)|(?:clocks?|speed|"
        r"performance) (?:drops?|falls?|goes down))\b(?![^\n.]{0,80}\?)",
        r"\b(?:gets?|got|becomes?|runs?|running) (?:too |very |so )?hot\b[^\n.?]{0,60}?\b(?:throttl(?:es|ed|ing)|"
        r"(?:clocks?|speed|performance) (?:drops?|falls?|goes down)|slows? down)\b(?![^\n.]{0,80}\?)",
        r"\bwhen (?:you|it|they|the (?:gpu|card)s?) (?:get|become)s? (?:too )?hot\b[^\n.?]{0,30}?\b(?:slow\w{0,2}|"
        r"throttl(?:es?|ed|ing))\b",
    ),
    report(
        "said.instances_slow_each_other",
        r"\b(?:serv(?:er|ing)|triton|vllm|sglang|latency|request|inference)",
        rf"\b(?:multi[- ]?{_SERVERS}|{_MANY} (?:\w{{1,12}} ){{0,2}}{_SERVERS})\b[^\n.]{{0,60}}?"
        rf"\b(?:same|one|single|shared|per[- ]server)\b[^\n.]{{0,80}}?\b{_WORSE}",
        rf"\b{_WORSE}[^\n.]{{0,60}}?\b{_MANY} (?:\w{{1,12}} ){{0,2}}{_SERVERS}\b[^\n.]{{0,40}}?"
        r"\b(?:same|one|single|shared)\b",
        rf"\bwhen [^\n.]{{0,12}}?\b{_MANY} (?:\w{{1,12}} ){{0,2}}{_SERVERS} (?:are|is) (?:\w{{1,10}} ){{0,4}}"
        rf"(?:started|running|used|run|launched|loaded)\b[^\n.]{{0,120}}?\b(?:{_WORSE}|latency to (?:spike|rise|"
        rf"increase))",
    ),
    report(
        "said.slower_with_more_gpus",
        r"\bgpus\b|\bnodes?\b",
        r"\b(?:multi(?:ple)?|two|2|several|more)[- ]?nodes?\b[^\n.]{0,30}?\bslower than\b[^\n.]{0,20}?"
        r"\b(?:single|one|1)[- ]?node\b",
        r"\b(?:increas(?:e|ed|ing) the number of GPUs|add(?:ed|ing)? (?:more|another|a second) GPUs?|(?:use|used|using|"
        r"with|on) (?:more|multiple|several|both|two|2|4|8) GPUs?)\b(?:(?!\b(?:not?|faster)\b)[^\n.]){0,50}?"
        r"\b(?:slower|"
        r"(?:latency|time) (?:increase[sd]?|goes up|rises)|(?:tps|throughput|speed|performance) "
        r"(?:decrease[sd]?|drops?|dropped|goes down|falls?|got worse))\b(?! per (?:gpu|card|device)\b)",
        r"\bthe more (?:GPUs?|cards) (?:(?:I|we|you|one|are|is) ){0,2}(?:use|used|add|added|have)?,? ?"
        r"the (?:slower|longer)\b",
        r"\bslower (?:on|with|when using|using) (?:more|multiple|several|both|two|2|4|8) GPUs?\b[^\n.]{0,20}?\bthan\b",
    ),
    report(
        "said.host_memory_exhausted",
        r"\b(?:train|epoch|process|script|job|container|pod|python|data|model|colab|notebook)",
        rf"{_HOST_MEMORY} {_UP_TO}{_ALL_USED}",
        r"\b(?:fill(?:s|ed|ing)?(?: up)?|exhaust(?:s|ed|ing)?|"
        r"(?:uses?|used|using|eats?|eating|takes?|consum(?:es?|ed|ing))"
        rf"(?: up)? all(?: of)?) (?:the |my |all )?(?:available )?{_HOST_MEMORY}",
        near=_KILLED,
    ),
    report(
        "said.host_memory_exhausted",
        r"\b(?:container|pod|cgroup|kubernetes|docker|slurm|job)",
        r"\b(?:memory|RAM)(?: usage| use)? (?:of|in) the (?:container|pod|job|cgroup) "
        rf"{_UP_TO}(?:its|the|our) (?:[0-9]{{1,5}} ?[GM]i?B? )?(?:memory )?limit\b",
        r"(?<!GPU )\b(?:container|pod|cgroup|job)(?:'s)? memory(?: usage| use)? "
        rf"{_UP_TO}(?:its|the|our) (?:[0-9]{{1,5}} ?[GM]i?B? )?(?:memory )?limit\b",
        near=_KILLED,
    ),
    report(
        "said.host_memory_exhausted",
        r"\b(?:train|epoch|process|script|job|container|pod|python|data|model|colab|notebook)",
        r"\b(?:runs?|ran|running|goes|went) out of (?:host|system|CPU|main) (?:memory|RAM)\b(?![^\n.]{0,80}\?)",
        r"\b(?:runs?|ran|running) out of RAM\b(?![^\n.]{0,80}\?)",
    ),
)
"""Symptoms of machines and devices, in the words of those who report them."""

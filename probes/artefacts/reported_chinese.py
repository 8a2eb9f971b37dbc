"""How people describe in Chinese what they saw: the symptoms of `reported_wordings`, under the same facts.

Latin words stand between Chinese ones without a space (`GPU利用率`), so that `\\b` marks no edge of theirs.
"""

from __future__ import annotations

from gpuwhy.probes.artefacts.reported_sentences import Report, report

_GAP = r"[^\n。；！？]"
_TRAINING = r"(?:训练|微调|预训练|跑模型|epoch|迭代)"
_VERY = r"(?:很|非常|特别|太|极其|极|十分|相当|有点|比较|明显|越来越|变得?|还是很?|一直很?|巨){0,2}"
_MEMORY = r"(?:显存|GPU内存|GPU memory|VRAM)"
_HOST_MEMORY = r"(?<!显存)(?<!GPU)(?<!GPU )(?:主机内存|系统内存|CPU内存|物理内存|内存)"
_GROWS = r"(?:增长|增加|上涨|上升|变大|涨|变多|升高)"
_SLOWLY = r"(?:一直|不断|持续|逐渐|慢慢|越来越|缓慢|随着)"
_LOADING = r"(?:数据加载|加载数据|读取?数据|数据读取|数据预处理|data ?loader|IO|I/O|io)"
_CARDS = r"(?:多卡|多gpu|双卡|四卡|八卡|两张卡|[2-8]卡|多机多卡|多机|多节点|分布式)"
_GPU_USE = r"GPU ?(?:的)?(?:计算)?(?:利用率|使用率|占用率|util)"
_LATENCY = r"(?:延迟|时延|响应时间|推理时间|耗时|p99|p95|tp99)"
_PERCENT = r"(?P<{0}>[0-9]{{1,3}}) ?%"

REPORTS: tuple[Report, ...] = (
    report(
        "said.work_slow",
        r"训练|微调|gpu|显卡",
        rf"(?i){_TRAINING}(?:速度|过程|时间|起来)?(?:都|就)?{_VERY}(?:慢|久|缓慢)",
        rf"(?i){_TRAINING}{_GAP}{{0,8}}(?:速度|变){_VERY}慢",
    ),
    report(
        "said.latency_bad",
        r"推理|延迟|时延|响应|请求|服务",
        rf"(?i){_LATENCY}{_GAP}{{0,12}}(?:抖动|波动|不稳定|飙升|突增|{_VERY}(?:高|长|大|慢))",
        rf"(?i)推理(?:速度|时间)?{_VERY}(?:慢|不稳定|抖动)",
    ),
    report(
        "said.first_request_slow",
        r"推理|预测|请求|服务|模型",
        rf"(?i)(?:第一次|首次|第一个|第一张|前几次|首个){_GAP}{{0,12}}{_VERY}(?:慢|耗时长|久|时间长)",
        rf"(?i)(?:第一次|首次|第一个){_GAP}{{0,10}}(?:需要|要|耗时|花费?了?){_GAP}{{0,4}}[0-9.]{{1,6}} ?(?:s|秒|分钟)"
        rf"{_GAP}{{0,30}}(?:之后|后面|后续|以后|第二次|再次)",
    ),
    report(
        "said.first_request_slow",
        r"推理|请求|服务|模型|ollama|问|gpu",
        rf"(?i)(?:第一(?:次|个)?|首次){_GAP}{{0,40}}(?:要等|等|需要|要|耗时)[0-9.]{{1,5}} ?多?"
        rf"(?:s|秒|分钟){_GAP}{{0,60}}"
        r"(?:之后|以后|再|后面|后续|第二次)",
        rf"(?:放|隔|间隔|闲置|空闲|停)了?(?:[0-9]{{1,3}} ?分钟|一段时间|几分钟|一会儿?|久了){_GAP}{{0,24}}"
        r"(?:要等|很慢|变慢|初始化|慢)",
    ),
    report(
        "said.model_reloaded",
        r"模型",
        rf"(?:每次|每个)(?:请求|推理|调用){_GAP}{{0,12}}(?:重新|都要?|会)?加载模型",
        rf"模型{_GAP}{{0,10}}(?:被?频繁|反复|重复|不断)(?:地)?(?:加载|卸载)",
    ),
    report(
        "said.waits_for_data",
        r"训练|epoch|dataloader|数据",
        rf"(?i){_LOADING}(?:速度|时间|部分|阶段)?{_GAP}{{0,6}}?{_VERY}(?:慢|耗时|是瓶颈|成为?瓶颈|占(?:了)?大部分|跟不上)",
        rf"(?i)(?:卡在|等待|都花在|耗在|瓶颈(?:在|是)){_GAP}{{0,6}}{_LOADING}",
        r"(?i)GPU{0,2}(?:一直|总是|经常|大部分时间)?(?:都)?在?等(?:待)?(?:数据|CPU)",
    ),
    report(
        "said.utilization_swings",
        r"训练|epoch|模型",
        rf"(?i){_GPU_USE}{_GAP}{{0,20}}(?:波动|跳动|忽高忽低|上下跳|浮动|变化){_GAP}{{0,16}}?{_PERCENT.format('one')}"
        rf"{_GAP}{{0,16}}?{_PERCENT.format('other')}",
        rf"(?i){_GPU_USE}{_GAP}{{0,12}}(?:在|从){_GAP}{{0,4}}?{_PERCENT.format('one')} ?"
        rf"(?:到|和|与|-|~|至|、){_GAP}{{0,4}}?{_PERCENT.format('other')}{_GAP}{{0,8}}(?:波动|跳动|之间|浮动|变化|徘徊)",
        shares={"one": "said.utilization_one_share", "other": "said.utilization_other_share"},
    ),
    report(
        "said.utilization_low",
        r"训练|epoch|模型|跑",
        rf"(?i){_GPU_USE}{_GAP}{{0,6}}?(?:{_VERY}低|上不去|不高|提不上去|起不来|跑不满|打不满|不到[1-4]?[0-9] ?%)",
        r"(?i)(?:GPU|显卡)(?:跑不满|打不满|没跑满|吃不满|利用不充分)",
    ),
    report(
        "said.gpu_not_used",
        r"gpu|显卡|cuda",
        r"(?i)(?:没有?|未|不)(?:在|能)?(?:使用|用到?|调用|用上)(?:到)?(?:GPU|显卡)",
        r"(?i)(?:只|还是|一直|都)(?:在)?(?:用|使用|跑在)(?:的是)?CPU(?![A-Za-z内])",
        r"(?i)(?:GPU|显卡) ?(?:没有?|未)(?:被)?(?:使用|用到|调用|工作)",
        negative=True,
    ),
    report(
        "said.gpu_not_seen",
        r"torch|tensorflow|paddle|jax|keras|gpu",
        r"(?i)(?:检测|识别|找|看|认|发现)不到 ?(?:GPU|显卡)",
        r"(?i)(?:没有?|未|无法|不能)(?:检测|识别|找|发现)(?:到|出)? ?(?:GPU|显卡|可用的?GPU)",
        negative=True,
    ),
    report(
        "said.memory_grows",
        r"显存|gpu|cuda",
        rf"(?i){_MEMORY}(?:占用|使用量?|消耗)?{_GAP}{{0,4}}?{_SLOWLY}{_GAP}{{0,16}}?{_GROWS}",
        rf"(?i){_MEMORY}(?:占用|使用量?)?(?:越来越(?:大|多|高)|泄[漏露])",
        rf"(?i)(?:每个|每次|随着)(?:epoch|迭代|step|训练){_GAP}{{0,12}}{_MEMORY}{_GAP}{{0,6}}{_GROWS}",
    ),
    report(
        "said.host_memory_grows",
        r"训练|epoch|dataloader|gpu",
        rf"(?i){_HOST_MEMORY}(?:占用|使用量?|消耗)?{_GAP}{{0,4}}?{_SLOWLY}{_GAP}{{0,12}}?{_GROWS}",
        rf"(?i){_HOST_MEMORY}(?:占用|使用)?(?:越来越(?:大|多|高)|泄[漏露])",
    ),
    report(
        "said.host_memory_exhausted",
        r"训练|epoch|进程|程序|脚本|容器|数据|gpu",
        rf"(?i){_HOST_MEMORY}(?:占用率?|使用率?|使用量)?{_GAP}{{0,10}}?"
        r"(?:打满|爆满|爆了|爆掉|耗尽|用光|用完|占满|吃满|吃光|撑爆|满了|100 ?%)",
        near=r"被 ?(?:系统)?(?:杀|kill)|killed|oom.?killer|杀掉|杀死|崩溃|死机|重启|\b137\b",
    ),
    report(
        "said.spans_machines",
        r"nccl|busbw|多机|分布式|训练",
        r"(?:跨(?:机|节点|主机)|双机|多机)(?:之间|间|的)?(?:通信|训练|带宽|测试|all-?reduce)",
        r"(?:两|二|三|四|八|[2-9]|[1-9][0-9]) ?(?:台|个)(?:机器|服务器|节点|主机)(?:之间|间|上)?",
    ),
    report(
        "said.memory_kept",
        r"显存|gpu|nvidia-smi",
        rf"(?i)(?:停止|结束|中断|退出|kill|杀掉|关闭|ctrl){_GAP}{{0,20}}{_MEMORY}{_GAP}{{0,8}}(?:没有?|未|不|仍然?|还)(?:被)?"
        r"(?:释放|占用|被占)",
        rf"(?i){_MEMORY}{_GAP}{{0,6}}(?:没有?|不|未)(?:被)?释放{_GAP}{{0,20}}(?:进程|nvidia-smi)",
        negative=True,
    ),
    report(
        "said.memory_failure",
        r"显存|gpu|cuda",
        r"(?i)(?:显存|GPU内存)(?:不足|溢出|不够用?|爆了?|超了|炸了)",
        r"(?i)(?:爆|炸|超)显存",
    ),
    report(
        "said.fails_later",
        r"显存|oom|out of memory",
        rf"(?i)(?:训练|跑)(?:了|到|几|若干|一段|第){_GAP}{{0,10}}(?:epoch|轮|step|步|迭代|小时|时间)s?{_GAP}{{0,8}}(?:后|之后|时|就|突然)",
        near=r"显存(?:不足|溢出|不够|爆|超)|爆显存|\boom\b|out of memory",
    ),
    report(
        "said.spills_to_host",
        r"显存|gpu",
        r"(?i)(?:占用|使用|用到?|溢出到|吃)(?:了)?共享(?:GPU)?(?:内存|显存)",
        r"(?i)共享(?:GPU)?(?:内存|显存)(?:被)?(?:占用|使用|占满)",
    ),
    report(
        "said.exchange_dominates",
        r"多卡|多机|分布式|ddp|nccl|deepspeed|gpu",
        rf"(?i)(?:通信|梯度同步|all-?reduce)(?:开销|时间|耗时|占比)?{_GAP}{{0,6}}?(?:{_VERY}(?:大|高|长|慢)|占(?:了)?大部分|是瓶颈|成为?瓶颈)",
    ),
    report(
        "said.slower_with_more_gpus",
        r"多卡|双卡|[2-8]卡|gpu",
        rf"(?i){_CARDS}(?:训练)?(?:速度|反而|还|时间|的)?{_GAP}{{0,6}}?比单卡(?:还|更|反而)?(?:要)?{_VERY}慢",
        rf"(?i){_CARDS}(?:训练)?(?:速度)?(?:反而|却|变得?)(?:更|变)?慢",
    ),
    report(
        "said.hang_at_full_use",
        r"多卡|多机|分布式|ddp|nccl|卡",
        rf"(?i)(?:卡住|卡死|挂起|死锁|hang|不动){_GAP}{{0,40}}{_GPU_USE}{_GAP}{{0,8}}(?:100|99|98) ?%",
        rf"(?i){_GPU_USE}{_GAP}{{0,8}}(?:100|99|98) ?%{_GAP}{{0,30}}(?:卡住|卡死|挂起|死锁|不动)",
        near=rf"(?i){_CARDS}|nccl|ddp",
    ),
    report(
        "said.hangs",
        r"\bnccl (?:info|warn|version)\b",
        r"(?i)(?:卡住|卡死|挂起|死锁|hang住|卡在)(?:了|不动)?",
    ),
    report(
        "said.peer_access_avoided",
        r"nccl|p2p|acs|iommu",
        rf"(?i)(?:设置|加上?|export|关闭){_GAP}{{0,10}}NCCL_P2P_DISABLE ?=? ?1?{_GAP}{{0,12}}"
        r"(?:正常|解决|可以|成功|好了)",
        rf"(?i)(?:关闭|禁用)(?:了)?(?:BIOS(?:里|中)?的?)? ?(?:ACS|IOMMU){_GAP}{{0,14}}(?:正常|解决|可以|成功|好了)",
    ),
    report(
        "said.throttled_by_heat",
        r"gpu|显卡",
        rf"(?i)(?:温度(?:过|太|很)高|过热|温度{_GAP}{{0,10}}[89][0-9] ?(?:度|℃|°C)){_GAP}{{0,16}}"
        r"(?:降频|降速|频率(?:下降|降低|掉))",
        r"(?i)(?:过热|高温|温度墙)(?:导致|触发|引起)?(?:的)?(?:降频|降速)",
    ),
    report(
        "said.instances_slow_each_other",
        r"推理|服务|triton|vllm|实例",
        rf"(?i)(?:多个|两个|[2-9]个)(?:实例|进程|服务|模型){_GAP}{{0,24}}(?:同一张?卡|同一个?GPU|同时){_GAP}{{0,24}}(?:变慢|延迟(?:变|升|增|翻)|下降)",
    ),
    report(
        "said.spans_machines",
        r"nccl|分布式|gpu|训练",
        r"(?:多机|跨机|跨节点|多节点|机器之间|节点之间|节点间)(?:多卡)?(?:训练|通信|测试|带宽)?",
    ),
    report(
        "said.second_epoch_faster",
        r"epoch|轮",
        rf"(?i)第一个?(?:epoch|轮){_GAP}{{0,16}}(?:慢|[0-9.]{{1,5}} ?(?:分钟|小时|min|h)){_GAP}{{0,40}}"
        rf"(?:第二个?|后面|之后|后续)(?:的)?"
        rf"(?:epoch|轮)?{_GAP}{{0,12}}(?:快|只要|只需)",
    ),
    report(
        "said.synthetic_faster",
        r"训练|数据",
        rf"(?:随机|假|合成)(?:生成的?)?(?:数据|输入|tensor){_GAP}{{0,20}}快(?:了)? ?"
        r"(?P<speedup>[1-9][0-9]{0,2}(?:\.[0-9])?) ?倍",
    ),
    report(
        "said.driver_insufficient",
        r"cuda",
        r"(?i)(?:显卡|NVIDIA|GPU)?驱动(?:程序)?(?:版本)?(?:太低|过低|太旧|过旧|版本低|不支持(?:该|此|当前)?(?:版本的?)?CUDA)",
    ),
    report(
        "said.version_mismatch",
        r"nvidia-smi|nvml|内核",
        rf"(?i)(?:驱动|内核模块|NVML)(?!{_GAP}{{0,12}}CUDA){_GAP}{{0,12}}(?:版本)?不(?:匹配|一致|符)",
    ),
    report(
        "said.fell_off_bus",
        r"gpu|显卡|nvidia",
        r"(?i)(?:GPU|显卡)?(?:又|经常|频繁|突然|随机)?掉卡(?:了)?",
        r"(?i)(?:GPU|显卡)(?:又|经常|频繁|突然|随机)?(?:掉线|丢失)(?:了)?",
    ),
)
"""Symptoms, in Chinese."""

package import JSON
import System

/// How a command shows its result, which is an answer of the admin API or a document of its own.
package enum View: String, CaseIterable, Sendable {
    case readiness, status, cluster, drain, destinations, destinationTest, credentials, proofs
    case queue, waitingLogs, deadLetters, deadLetter, editedLetter, letterChange, clients
    case refusals, configuration, resolvers, lookup, resolverRefresh, captures, captureEntries
    case captureRecord, captureReplay, routeTest, queueCheck, backup, restore, shards
    case queueToShard, shardToQueue

    /// `page` counts the pages of a listing from 0.
    package func text(_ document: JSONValue, page: Int = 0) -> String {
        template.text(document, page: page)
    }

    /// A body that is no such document stays as it is.
    package func text(of body: [UInt8], page: Int = 0) -> String {
        let template = template
        guard let document = try? JSONValue(parsing: body), template.fits(document) else {
            return TerminalText.lines(String(decoding: body, as: UTF8.self))
        }
        return template.text(document, page: page)
    }

    private var template: ViewTemplate { ViewTemplate(Self.templates[rawValue] ?? []) }

    /// A command's own result, without the end of the last line.
    package func line(_ document: String, asJSON: Bool) -> String {
        asJSON ? document : String(text(of: Array(document.utf8)).dropLast())
    }

    /// The lines of each template by its name; some are parts of others.
    static let templates = sections(of: text)

    /// The lines of a text by section. `== NAME` begins one, and `# ` a comment.
    package static func sections(of text: String) -> [String: [Substring]] {
        var sections: [String: [Substring]] = [:]
        var name = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("== ") {
                name = String(line.dropFirst(3))
            } else if !line.hasPrefix("# ") {
                sections[name, default: []].append(line)
            }
        }
        return sections
    }

    private static let text = """
        == readiness
        @of ready
        [ready{ready?}]
        @each reasons
        | {.}
        == status
        @of destinations
        @each summary
        | {.}

        sluice {version}, up {uptime_seconds:span}, at {time}
        @in intake
        |   received   {received} = filtered {filtered} + dropped {dropped} + routed {routed}, \
        in {copies} copies
          ledger     {ledger:ledger}
        @each destinations
        |
        | destination  {name}: [{state}, leaving{configured!}|{state}|\
        no longer in the configuration]
        | [  sends to   [{project}/{logstore} at ]{endpoint}]
        | [             because {endpoint_reason}]
        | [  address    {address}, from {resolver}]
        |   ledger     {ledger:ledger}
        | [             IT IS OFF BY {imbalance} LOGS: report this as a defect of Sluice; \
        see GET /admin/ledger]
        | [  oldest     {queue.oldest_seconds:span}]
        | [  pace       {delivery.rate:tenths} requests/s, which the project's quota allows]
        | [  notice     {notice}]
        | [  trouble    {trouble}]
        | @if trouble!
        | | @each outlets trouble? 10
        | | |   logstore   {logstore}, {queued_logs} queued: {trouble}
        | @in last_error
        | |   last error {time} {logstore}: {error}[ (request id {request_id})]
        | |   sdk result {result.name} ({result.number})
        | |   remedy     {remedy}
        @in queue.fleet
        |
        | cluster      {node} and {other_gateways:other gateway}
        | [  trouble    it cannot be reached: {problem}]
        | [  trouble    the others cannot be heard: {messages_problem}]
        | @each shards
        | |   shard      {name}, {role}, {queued} queued[; {problem}]
        | @each other_gateways
        | |   gateway    {node}: [GONE, {alive!}]{shards:shard}, {ledger.queued} queued, \
        {ledger.dead} dead[; {problem}]
        | [  adopting   {adopting}]
        | @each orphans
        | |   orphan     {shard}[; not adopted: {refused_because}]
        @if credentials?
        |
        @each credentials
        | credential   {>credential}
        | @use credentialNotes
        # `sluice status --cluster`.
        == cluster
        cluster      [1 gateway lives{living=1}|{living:gateway} live][, {gone} gone]\
        [; {orphans:shard} without a gateway]\
        [; A LEDGER DOES NOT ADD UP: report this as a defect of Sluice{ledger_closed=false}]
        [  trouble    the others cannot be heard: {messages_problem}]
          ledger     {ledger:ledger} (all gateways)
        @each gateways
        |
        | gateway      {node}: [this one{this?}|lives{alive?}|GONE], version {version}
        | [  trouble    {problem}]
        | @if this?
        | | @each /shards
        | | |   shard      {name}, {role}, {queued} queued in {bytes:size}, epoch {epoch}, \
        commit log {log_bytes:size}[; {problem}]
        | @if this!
        | | @each shards
        | | |   shard      {.}
        |   ledger     {ledger:ledger}
        @if orphans?
        |
        [adopting     {adopting}]
        @each orphans shard!=/adopting
        | orphan       {shard}: [not adopted: {refused_because}|not adopted yet]

        since start  shards adopted {adoptions}, absorbed {absorptions}, \
        taken by other gateways {losses}, replaced {replacements}, packets perhaps sent twice {late_acknowledgements}, \
        repeats recognised {recognised_repeats}, not told to others {untold_repeats}
        == drain
        @of draining
        [draining, no more logs are accepted{draining?}|accepting logs]: {queued} queued\
        [, {arriving:request} being stored][, {held} of them for paused destinations]\
        [, {dead:dead letter}]
        # A list, one destination, or the name of a forgotten one.
        == destinations
        @of destinations status name
        @each destinations
        | @use destination
        @if status?
        | @use destination
        [{name}: forgotten{status!}]
        == destination
        {status.name}: [paused by an operator{paused?}|resumed{status.state=held}|{status.state}], \
        {status.ledger.queued:log} queued, \
        sends to [{status.project}/{status.logstore} at ]{status.endpoint}
        [  {status.notice}]
        [  decided at run time: {decided:json}]
        == destinationTest
        @of verdict
        {destination}: [{message}{verdict=accepted}|{verdict}: [{code}: ]{message}; {remedy}]
        == credentials
        @of credentials source name
        @each credentials
        | {>credential}
        | @use credentialNotes
        @if source?
        | {>credential}
        | @use credentialNotes
        [{name}: forgotten{source!}]
        [  not kept over a restart: {not_stored_because}]
        [  not proved: no destination or role was asked{proved=false}]
        == credential
        {name}: {state}, {source}[ (pushed){pushed?}]\
        [, [{access_key_id} ](fingerprint {fingerprint})]\
        [, expired {seconds_left:span} ago{seconds_left<}|, expires in {seconds_left:span}]\
        [, kept on disk{kept=disk}|, kept in memory only: {kept_reason}{kept=memory}]
        == credentialNotes
        [  the stored credential cannot be opened: {kept_reason}{kept=closed}]
        [  next: fingerprint {next.fingerprint} from {next.activation}]
        [  {last_problem}]
        == proofs
        @of proofs
        @each proofs
        | {/name} at {destination}: {verdict}[: [{code}: ]{message}; {remedy}]
        @each role_proofs
        | {/name} for the role {role}: {verdict}[: [{code}: ]{message}; {remedy}]
        [{name}: no destination or role uses it, so it cannot be proved{verdict!}]
        == queue
        @of destinations
        @use queueLines
        @each other_gateways
        |
        | gateway {$}
        | @use queueLines
        @use silentGateways
        == queueLines
        queue        [{queued_logs=1}1 log waits|{queued_logs:log} wait|nothing waits]\
        [, the oldest for {queue.oldest_seconds:span}], \
        {queue.bytes:size} of {queue.bytes_max:size}, {queue.streams:stream}
        [             {queue.problem}]
        @each destinations
        |
        | destination  {$}: [{queued_logs=1}1 log waits|{queued_logs:log} wait|nothing waits]\
        [, the oldest for {oldest_seconds:span}], {bytes:size}[ of {bytes_max:size}]
        | [  its streams were not listed; see GET /admin/status{streams=null}]
        | @table streams
        | |   >OLDEST | >LOGS | >BYTES | >PACKETS | STREAM
        | |   {oldest_seconds:span} | {queued_logs} | {raw_bytes:size} | {packets} | \
        {logstore:shown}[ topic={topic:shown}][ source={source:shown}][ tags: {tags:pairs}]\
        [ … {tags_more} more]
        | [  and {streams_more:more stream}]
        == silentGateways
        @each missing
        |
        | no answer from {.}
        == waitingLogs
        @of logs
        @use waitingLines
        @each other_gateways
        |
        | gateway {$}
        | @use waitingLines
        @use silentGateways
        == waitingLines
        @each logs
        | {accepted}  {logstore}  [{topic}]  {log}
        [no logs wait there{logs!}]
        == deadLetters
        @of dead_letters
        @if #!
        | @each missing
        | | {.} did not answer; its dead letters are not listed
        @each sums
        | {letters} of {destination} died of {code} ({bytes:size}, the last {latest})
        @if sums?
        |
        [no dead letters{sums!}{dead_letters!}{#!}]
        @each dead_letters
        | {id}  {died}  {destination}/{logstore}  [{status} ]{code}: {message}\
        [ (replayed once){replays=1}| (replayed {replays} times)]
        == deadLetter
        @of id
        dead letter  {id}
        for          {destination}/{logstore}
        [replayed     [once{replays=1}|{replays} times], last at {last_replay}|\
        accepted     {accepted}]
        died         {died}
        of           [{status} ]{code}: {message}
        @each captures
        | captured     capture {id}, record {record}
        [request id   {request_id}]
        [remedy       {remedy}]
        log          [{log:json}|damaged on disk; purge it or replace it]
        == editedLetter
        @of id
        dead letter {id} is changed; replay it to deliver it
        == letterChange
        @of replayed purged
        [{replayed} replayed|{purged} purged|0 replayed{replayed=0}|0 purged{purged=0}]\
        [, {unreadable} are damaged on disk and stay]
        == clients
        @of keys
        @each keys
        | {name}: {requests:request}, {logs:log}, {bytes:bytes}, {refused:total} refused\
        [; last: {last_refusal.code}: {last_refusal.message}]
        [no keys are configured (devices.keys): every device may send{keys!}]
        == refusals
        @of refusals
        @each refusals
        | {time}  {status} {code}  [{method} {path}|unreadable request] from {address}\
        [ (key {key})]: {message}
        [no request was refused since the start{refusals!}]
        == configuration
        @of values
        @each problems refused?
        | refused: {message}
        @each values
        | {key} = [(not shown){hidden?}|{value}|(not set)] ({origin}[, line {line}|, {given_by}])
        == resolvers
        @of resolvers
        [no resolvers are configured; the system resolves all names{resolvers!}{hosts!}]
        @each resolvers
        | resolver  {name}: {kind}, [not asked for {closed_seconds:span}|\
        {resting_servers} of {servers:server} do not answer|works]
        |   servers {servers}
        | [  problem {problem}]
        @each hosts
        | host  {host}: [no address from {resolve}{resolver!}|\
        from {resolver}, stale for {seconds_left:span}{stale?}|\
        from {resolver}, for {seconds_left:span}]
        | @each addresses
        | |   {address}[, connects in {connect_seconds:span}][, failed a moment ago{failed?}]
        == lookup
        @of answers
        @each answers
        | {resolver}, after {seconds:span}[: {problem}]
        | @each addresses
        | |   {address}  TTL {ttl_seconds:span}  [FAILS: {problem}|\
        connects, certificate fine{/encrypted?}|connects][ in {connect_seconds:span}]
        == resolverRefresh
        @of asked
        [the resolvers are asked again{asked?}]
        == captures
        @of captures
        @each captures
        | @use capture
        [no capture; start one with sluice capture start{captures!}]
        == capture
        {id}  {state}, {kept:request}, {kept_bytes:bytes}; [requests with{filter?}\
        [ path={filter.path:shown}][ host={filter.host:shown}][ tag={filter.tag:shown}]\
        [ key={filter.key:shown}][ address={filter.address:shown}]\
        [ status={filter.status:shown}][ text of {filter.text:bytes}]|everything]; \
        started by {actor} at {started}, ends by {ends}
        == captureEntries
        @of entries
        @use capture
        @each entries
        | {n}  {time}  [{status}|-][ {code}]  {method} {path} from {address}, {logs} logs
        == captureRecord
        @of n
        {method} {path}[?{query}] {version}
        @each head
        | {0}: {1}
        @in body
        |
        | body: {bytes} bytes[, sha256 {sha256}][ ({reason})]
        | [{text:lines}]
        | [… cut here{truncated?}]
        @in decoded
        |
        | inflated body: {bytes} bytes[, sha256 {sha256}][ ({reason})]
        | [{text:lines}]
        | [… cut here{truncated?}]

        from {address} at {time}
        @each decisions
        |   {step}: {outcome}[ ({detail})]
        @each logs
        | log {#1} of {/log_count}, tag {tag}
        | [  came  {before}]
        | [  goes  {after}]
        |   to    [{destinations}|nowhere][: {reason}]
        @in answer
        | answer {status} after {milliseconds:tenths} ms
        | @each head
        | |   {0}: {1}
        | [  {body}]
        @each upstream
        | attempt {attempt} at {time}: {logs} logs to {destination} at {address}, \
        [HTTP {status}|no answer] after {milliseconds:tenths} ms, {result}\
        [: {code}: {message}|: {code}|: {message}][ (request id {request_id})]
        [{upstream_left_out:more attempt}, not kept]
        [delivery {delivery}[, {outcomes.waiting} waiting][, {outcomes.delivered} delivered]\
        [, {outcomes.dead} dead][, {outcomes.expired} expired][, {outcomes.discarded} discarded]\
        [, {outcomes.skipped} skipped]]
        [dead letters {dead_letters}]
        # What a replay would do, or the receipt of one that was sent.
        == captureReplay
        @of dry
        @if dry!
        | sent {logs:log} again, receipt {receipt}: {copies} queued, {filtered} filtered, \
        {dropped} dropped by routes[; {left_out} unreadable ones are left out]
        @if dry?
        | under the {configuration} filters and routes; nothing is stored
        | @each changes
        | |   log {log:1}
        | | @each fields
        | | |     {$}: [{was}|-] -> [{is}|-]
        | | [    tag: {tag.was} -> {tag.is}]
        | | @in destinations
        | | |     destinations: [{was}|none] -> [{is}|none]
        | [  nothing changes{changes!}]
        |
        | @use routeTest
        == routeTest
        @of results
        tag          {tag:shown}
        [filters      none{filters!}]
        @each filters
        |
        | filter {filter}     {name}\
        [ with the tag {tag:shown}{tag!=/tag}][ captured {captured:shown}]
        | @each steps
        | |   step {step}     {does:json}
        | | @each logs
        | | |     log {log:1}    {>effect}
        | | | @each before
        | | | |              - {$:shown}={.:shown}
        | | | @each after
        | | | |              + {$:shown}={.:shown}
        @each results
        |
        | log {#1}        [{fields}|no fields][ with the tag {tag:shown}{tag!=/tag}]
        | [  refused    {refused.message} ({refused.code})]
        | [  dropped    by {dropped_by}]
        | [  dead       {dead_letter.message} ({dead_letter.code})]
        | @each destinations
        | | [  goes to    {outcome=stored}|  dead in    {outcome=dead_letter}|\
          dropped at {outcome=dropped}|  not to     ]\
        {name}[/{logstore:shown}][ topic={topic:shown}]: {why}
        @if near_misses?
        |
        @each near_misses
        | [near misses  {#!}|             ]{why}
        @each notes
        |
        | note         {.}
        == effect
        [skipped: the condition does not hold{effect=skipped}|sampled out{effect=sampled_out}|\
        has the tag {tag:shown} from here on{effect=tagged}|\
        becomes {logs} logs, which follow one after the other{effect=split}|\
        failed: {reason}; [stays as it was{on_error=keep}|dropped{on_error=drop}|\
        becomes a dead letter] (on_error: {on_error}){effect=failed}|{effect}]
        == queueCheck
        {path} is [fine{fine?}|damaged]
        @each findings
        |   wrong         {text}[ (one of {count} of this kind){count!=1}]
          schema        {schema}
          size          {bytes} bytes, and {log_bytes} in its WAL
          queued        {logs} logs in {rows} rows of {streams} streams, {packets} packets sealed
          dead letters  {dead_letters}
          remembered    {remembered_requests} requests
        @each ledgers
        |   ledger        {$}: {.:ledger}
        @in intake
        |   received      {received} = filtered {filtered} + dropped {dropped} + routed {routed}, \
        in {copies} copies
        @if fine!
        | Nothing was changed. Copy the directory, then let `sluice serve` repair it: it moves a \
        damaged file aside,
        | keeps all readable logs, and counts the rest as discarded.
        == backup
        [the copy{path=-}|{path}] has {logs} queued logs and {dead_letters} dead letters \
        in {bytes} bytes, and is fine
        == restore
        {path} has {logs} queued logs and {dead_letters} dead letters in {bytes} bytes, \
        as the shard {shard} was at entry {last_entry}
        [The log is damaged behind that entry, so the file is not complete: {damage}]
        @each findings
        |   wrong         {.}
        == shards
        @table shards
        | SHARD | OWNER | STATE | EPOCH | ROLE | LAST ENTRY
        | {name:shown} | [{owner:shown}|-] | {state} | [{epoch}|-] | [{role}|-] | \
        {last_entry}[-{last_entry=null}]
        | @each findings
        | |   strange: {.}
        [the cluster has no shards{shards!}]
        == queueToShard
        {directory} is the shard {shard} now; a running gateway of the cluster adopts it within \
        half a minute
        @use queueContent
        Decisions made at run time, such as pauses and pushed credentials, are not in it: make \
        them again. The queue as it was is {aside}, which is not needed any more.
        [A gateway has made another queue in {directory} meanwhile: run this command again.\
        {has_another?}]
        == shardToQueue
        {path} has the shard {shard} now, and the cluster has it no more
        @use queueContent
        Start a gateway with queue.engine: sqlite and this data_dir.
        == queueContent
        @if logs!=null
        | It has {logs} queued logs and {dead_letters} dead letters.
        """
}

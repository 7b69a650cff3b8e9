extension LogsPage {
    /// The whole page. It loads nothing from elsewhere, and only scripts and styles with this
    /// random nonce run, whatever a log contains.
    func document(nonce: String) -> HTMLText {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>SLS sandbox</title><style nonce="\(nonce)">\(Self.style)</style></head>
        <body><header><h1>SLS sandbox</h1>
        <p>A look-alike of Alibaba Cloud Log Service at <code>\(address)</code>. The same as data: \
        <a href="/logs">/logs</a>, <a href="/stats">/stats</a>, <a href="/faults">/faults</a>.</p>
        <form method="get" action="/" role="search">
        <label>Logstore <input name="logstore" value="\(query.logstore ?? "")"></label>
        <label>Contains <input type="search" name="contains" value="\(query.contains ?? "")"></label>
        <button>Show</button>
        <label class="live"><input type="checkbox" id="follow" checked> Follow</label>
        </form></header>
        <main id="live">\(live)</main>
        <script nonce="\(nonce)">\(Self.script)</script></body></html>

        """
    }

    private static let style: HTMLText = """
        :root { color-scheme: light dark; --line: #8884; --quiet: #666; }
        @media (prefers-color-scheme: dark) { :root { --quiet: #aaa; } }
        body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
        h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
        form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; }
        label { display: flex; flex-direction: column; font-size: .875rem; }
        label.live { flex-direction: row; gap: .4rem; align-items: center; }
        input, button { font: inherit; padding: .3rem .5rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); }
        td, thead th:not(:first-child) { text-align: right; }
        ol { list-style: none; margin: 0; padding: 0; }
        ol > li { border-bottom: 1px solid var(--line); padding: .5rem 0; }
        .where { margin: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
        .where, .small, dt { color: var(--quiet); font-size: .875rem; }
        dl { margin: 0; display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
        dl div { display: flex; gap: .4rem; max-width: 100%; }
        dd { margin: 0; } dd, dt, code { font-family: ui-monospace, monospace; \
        font-size: .875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
        """

    /// An update keeps scroll position and focus, which a reload would lose.
    private static let script: HTMLText = """
        const live = document.getElementById('live'), follow = document.getElementById('follow');
        async function refresh() {
          if (!follow.checked || document.hidden || String(getSelection())) return;
          try {
            const answer = await fetch(location.href, { headers: { 'x-sandbox-part': 'live' } });
            if (answer.ok) live.innerHTML = await answer.text();
          } catch { }
        }
        setInterval(refresh, 2000);
        """
}

// Follows every run of a daemon of Checkmate, and answers nothing.
//
//     node client.mjs [PORT]        needs Node 22 or later and nothing else (Node 20: --experimental-websocket)
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const state = join(process.env.XDG_STATE_HOME ?? join(homedir(), '.local/state'), 'checkmate/daemon')
const port = process.argv[2] ?? JSON.parse(readFileSync(join(state, 'daemon.json'), 'utf8')).port
const token = readFileSync(join(state, 'token'), 'utf8').trim()

/** The latest event that was seen, by run: after a connection is lost, the next one goes on behind it. */
const seen = new Map()

function connect() {
    const socket = new WebSocket(`ws://localhost:${port}`, ['checkmate.v1', `checkmate.token.${token}`])
    const send = (message) => socket.send(JSON.stringify(message))
    socket.onopen = () => {
        send({ type: 'hello', version: 1 })
        send({ type: 'watch_runs' })
        for (const [run, seq] of seen) send({ type: 'subscribe', run, from_seq: seq + 1 })
    }
    socket.onmessage = ({ data }) => {
        const { event, run, seq } = JSON.parse(data)
        if (event.type === 'run_changed' && !seen.has(event.state.run)) {
            seen.set(event.state.run, 0)
            send({ type: 'subscribe', run: event.state.run, from_seq: 1 })
        }
        // A chunk has the number of the event before it; every other event of a run comes once.
        if (run && seq && event.type !== 'stream_chunk') {
            seen.set(run, seq)
            console.log(run, seq, event.type)
        }
    }
    let lost = false
    socket.onclose = socket.onerror = () => {
        if (!lost) setTimeout(connect, 1000)
        lost = true
    }
}

connect()

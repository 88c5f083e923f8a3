"""What a turn costs here, against the bare agent loop, in one run: `python -m bench`.

Most figures are ratios of two things measured moments apart on the same machine, so they mean the
same on a slow one; where the product promises a time or a size, that is measured. A part is a
module named after its letter:

    a_turns      turns per second over our transports, against the bare `astream` and a tutorial's
    b_streams    how many streams one process carries
    c_memory     memory of a session
    d_growth     what one more turn costs in a long session, or beside many others
    e_start      how long programs take to their first answer, and a killed server to its next
    f_cancel     how soon a run is stopped
    g_rows       a million rows through the data service
    h_crowd      many users of one process
    i_sandbox    code in the sandbox, against a plain interpreter
    j_workers    two workers against one
    k_mcp        a call through our hub, against the SDK alone
    l_web        what the web app loads, and how fast it answers
    m_terminal   the terminal from nothing
    n_harbor     what Harbor adds to what it measures
    o_attacks    how soon the server answers while one user attacks
"""
